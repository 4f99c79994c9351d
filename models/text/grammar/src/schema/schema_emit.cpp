#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/grammar/grammar.h"

#include "characters.h"
#include "schema/numbers.h"
#include "schema/schema_emitter.h"

namespace weft::grammar {
namespace {

constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 31;

bool is_false(const JsonTree& json, JsonId id) {
  return json[id].kind == JsonNode::Kind::boolean && !json[id].truth;
}

// A required member that may not be there, as the end of a message; "" if there is none.
std::string forbidden_member(const JsonTree& json, JsonId id) {
  const JsonId required = json.find(id, "required"), properties = json.find(id, "properties");
  if (required == JsonTree::kNone || json[required].kind != JsonNode::Kind::array) return "";
  const bool has_properties =
      properties != JsonTree::kNone && json[properties].kind == JsonNode::Kind::object;
  const JsonId others = json.find(id, "additionalProperties");
  const bool closed = others != JsonTree::kNone && is_false(json, others) &&
                      json.find(id, "patternProperties") == JsonTree::kNone;
  for (const JsonId name : json[required].items) {
    if (json[name].kind != JsonNode::Kind::string) continue;
    const JsonId schema =
        !has_properties ? JsonTree::kNone : json.find(properties, json[name].text);
    if (schema != JsonTree::kNone && is_false(json, schema))
      return fmt::format(" ({} is false, and required)", json.pointer(schema));
    if (schema == JsonTree::kNone && closed)
      return fmt::format(" ({} requires '{}', which {} forbids)", json.pointer(required),
                         json[name].text, json.pointer(others));
  }
  return "";
}

// A place that explains why a schema allows nothing, as the end of a message; "" if none is found.
std::string contradiction(const JsonTree& json) {
  static constexpr std::pair<std::string_view, std::string_view> kBounds[] = {
      {"minItems", "maxItems"}, {"minLength", "maxLength"},     {"minProperties", "maxProperties"},
      {"minimum", "maximum"},   {"minContains", "maxContains"},
  };
  const auto is_number = [&](JsonId id) {
    return id != JsonTree::kNone && json[id].kind == JsonNode::Kind::number;
  };
  for (JsonId id = 0; id < json.size(); ++id) {
    if (json[id].kind != JsonNode::Kind::object) continue;
    const std::string absent = forbidden_member(json, id);
    if (!absent.empty()) return absent;
    const JsonId values = json.find(id, "enum");
    if (values != JsonTree::kNone && json[values].kind == JsonNode::Kind::array &&
        json[values].items.empty())
      return fmt::format(" ({} is empty)", json.pointer(values));
    for (const auto& [low, high] : kBounds) {
      const JsonId min = json.find(id, low), max = json.find(id, high);
      if (is_number(min) && is_number(max) &&
          compare(Decimal::of(json[min].text), Decimal::of(json[max].text)) > 0)
        return fmt::format(" ({} is above {})", json.pointer(min), high);
    }
  }
  return "";
}

}  // namespace

CompiledGrammar SchemaEmitter::run() {
  Conjunction root{{JsonTree::kRoot}};
  const RuleId rule = value(root);
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const auto [what, id] = work_[i];
    try {
      b_.define(id, types(what));
    } catch (const BudgetError& error) {
      fail<BudgetError>("schema {}: {}", expander_.json().pointer(what.front().node), error.what());
    }
  }
  try {
    return b_.finish(rule, false);
  } catch (const FormatError&) {
    fail<FormatError>("schema #: allows no value that ends{}", contradiction(expander_.json()));
  }
}

// --- shared rules ---

RuleId SchemaEmitter::shared(const char* name, Piece (SchemaEmitter::*make)()) {
  const auto [it, added] = shared_.try_emplace(name, 0);
  if (!added) return it->second;
  const RuleId id = it->second = b_.add_rule(name);
  b_.define(id, (this->*make)());
  return id;
}

Piece SchemaEmitter::text(std::string_view bytes) {
  const Piece p = b_.piece();
  b_.text(p.in, bytes, p.out);
  return p;
}

Piece SchemaEmitter::make_space() {
  const Piece p = b_.piece();
  b_.skip(p.in, p.out);
  b_.byte(p.in, ' ', ' ', p.out);
  if (single_line_) return p;
  StateId at = b_.state();
  b_.byte(p.in, '\n', '\n', at);
  for (int i = 0; i < 24; ++i) {
    b_.skip(at, p.out);
    const StateId next = i == 23 ? p.out : b_.state();
    b_.byte(at, ' ', ' ', next);
    b_.byte(at, '\t', '\t', next);
    at = next;
  }
  return p;
}

StateId SchemaEmitter::space(StateId from) {
  const StateId to = b_.state();
  b_.call(from, shared("space", &SchemaEmitter::make_space), to);
  return to;
}

StateId SchemaEmitter::mark(StateId from, char c, bool space_before, bool space_behind) {
  if (space_before) from = space(from);
  StateId to = b_.state();
  b_.byte(from, static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(c), to);
  return space_behind ? space(to) : to;
}

Piece SchemaEmitter::make_character() {
  const Piece p = b_.piece();
  add_json_character(b_, p.in, CodePoints::all(), p.out);
  const StateId escape = b_.state(), u = b_.state(), zeros = b_.state(), high = b_.state();
  b_.byte(p.in, '\\', '\\', escape);
  b_.byte(escape, '/', '/', p.out);
  b_.byte(escape, 'u', 'u', u);  // \u0020 .. \u007F; add_json_character() adds the others
  const StateId second = b_.state();
  b_.byte(u, '0', '0', second);
  b_.byte(second, '0', '0', zeros);
  b_.byte(zeros, '2', '7', high);
  for (const auto& [lo, hi] : {std::pair('0', '9'), std::pair('a', 'f'), std::pair('A', 'F')})
    b_.byte(high, static_cast<std::uint8_t>(lo), static_cast<std::uint8_t>(hi), p.out);
  return p;
}

Piece SchemaEmitter::quoted(Piece inner) {
  const Piece p = b_.piece();
  b_.byte(p.in, '"', '"', inner.in);
  b_.byte(inner.out, '"', '"', p.out);
  return p;
}

Piece SchemaEmitter::make_number() {
  return bytes(any_number());
}

Piece SchemaEmitter::make_any() {
  const Piece p = b_.piece();
  for (const char* word : {"null", "true", "false"}) b_.text(p.in, word, p.out);
  for (const RuleId rule : {number(), string()}) b_.call(p.in, rule, p.out);
  for (const Type type : {Type::array, Type::object}) add(p, emit(Term{}, type));
  return p;
}

void SchemaEmitter::add(Piece whole, Piece part) {
  b_.skip(whole.in, part.in);
  b_.skip(part.out, whole.out);
}

// --- values ---

RuleId SchemaEmitter::value(Conjunction what) {
  expander_.simplify(what);
  if (what.empty()) return shared("value", &SchemaEmitter::make_any);
  const auto [it, added] = rules_.try_emplace(what, 0);
  if (!added) return it->second;
  it->second = b_.add_rule(expander_.json().pointer(what.front().node));
  work_.push_back({what, it->second});
  return it->second;
}

Piece SchemaEmitter::types(const Conjunction& what) {
  const Piece p = b_.piece();
  for (const Type type : kTypes) {
    for (const Term& term : expander_.expand(what, type)) {
      if (expander_.possible(term, type, 0)) add(p, emit(term, type));
    }
  }
  return p;
}

Piece SchemaEmitter::emit(const Term& term, Type type) {
  switch (type) {
    case Type::null:
      return text("null");
    case Type::boolean: {
      const Piece p = b_.piece();
      if ((term.truths & 1) != 0) b_.text(p.in, "false", p.out);
      if ((term.truths & 2) != 0) b_.text(p.in, "true", p.out);
      return p;
    }
    case Type::number: {
      const DfaRef dfa = expander_.combined(term, type);
      return dfa ? bytes(*dfa) : b_.call(number());
    }
    case Type::string:
      return string_of(term);
    case Type::array:
      return array(term);
    default:
      return object(term);
  }
}

template <class Move>
Piece SchemaEmitter::automaton(const Dfa& dfa, const Move& move) {
  const StateId end = b_.state();
  std::vector<StateId> states;
  for (Dfa::State s = 0; s < dfa.size(); ++s) states.push_back(b_.state());
  for (Dfa::State s = 1; s < dfa.size(); ++s) {
    for (const auto& [to, set] : dfa.moves(s)) move(states[s], set, states[to]);
    if (dfa.accepts(s)) b_.skip(states[s], end);
  }
  return {states[dfa.start()], end};
}

Piece SchemaEmitter::bytes(const Dfa& dfa) {
  return automaton(dfa, [&](StateId from, const CodePoints& set, StateId to) {
    add_character(b_, from, set, to);
  });
}

Piece SchemaEmitter::characters(const Dfa& dfa) {
  return automaton(dfa, [&](StateId from, const CodePoints& set, StateId to) {
    if (set.ranges().back().hi < 0x80) return add_json_character(b_, from, set, to);
    const auto [it, added] = sets_.try_emplace(set, 0);
    if (added) {
      const Piece p = b_.piece();
      add_json_character(b_, p.in, set, p.out);
      it->second = b_.add_rule("character", p);
    }
    b_.call(from, it->second, to);
  });
}

Piece SchemaEmitter::string_of(const Term& term) {
  if (!term.allowed.empty()) return quoted(characters(*expander_.combined(term, Type::string)));
  if (term.min == 0 && term.max == Dfa::kUnbounded) return b_.call(string());
  check_count(term);
  const RuleId one = shared("character", &SchemaEmitter::make_character);
  return quoted(b_.repeat(one, term.min, term.max));
}

void SchemaEmitter::check_count(const Term& term) {
  if (term.min > kMaxCount || (term.max != Dfa::kUnbounded && term.max > kMaxCount))
    expander_.unsupported(term.bounds_at, fmt::format("counts above {}", kMaxCount));
}

CompiledGrammar compile_schema(std::string_view text, const JsonSchemaOptions& options) {
  const JsonTree json(text);
  return SchemaEmitter(json, options).run();
}

}  // namespace weft::grammar
