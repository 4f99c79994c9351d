#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/grammar/grammar.h"

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

Piece SchemaEmitter::make_any() {
  const Piece p = b_.piece();
  for (const char* word : {"null", "true", "false"}) b_.text(p.in, word, p.out);
  for (const RuleId rule : {json_.number(), json_.string()}) b_.call(p.in, rule, p.out);
  for (const Type type : {Type::array, Type::object}) add(p, emit(Term{}, type));
  return p;
}

void SchemaEmitter::add(Piece whole, Piece part) {
  b_.skip(whole.in, part.in);
  b_.skip(part.out, whole.out);
}

RuleId SchemaEmitter::value(Conjunction what) {
  expander_.simplify(what);
  if (what.empty()) return json_.shared("value", [&] { return make_any(); });
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
      return json_.text("null");
    case Type::boolean: {
      const Piece p = b_.piece();
      if ((term.truths & 1) != 0) b_.text(p.in, "false", p.out);
      if ((term.truths & 2) != 0) b_.text(p.in, "true", p.out);
      return p;
    }
    case Type::number: {
      const DfaRef dfa = expander_.combined(term, type);
      return dfa ? json_.bytes(*dfa) : b_.call(json_.number());
    }
    case Type::string:
      return string_of(term);
    case Type::array:
      return array(term);
    default:
      return object(term);
  }
}

Piece SchemaEmitter::string_of(const Term& term) {
  if (!term.allowed.empty())
    return json_.quoted(json_.characters(*expander_.combined(term, Type::string)));
  if (term.min == 0 && term.max == Dfa::kUnbounded) return b_.call(json_.string());
  check_count(term);
  const RuleId one = json_.character();
  return json_.quoted(b_.repeat(one, term.min, term.max));
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
