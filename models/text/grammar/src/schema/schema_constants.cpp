// "const" and "enum": values that are given.

#include <algorithm>

#include "weft/base/error.h"

#include "schema/schema_keywords.h"

namespace weft::grammar {

using Kind = JsonNode::Kind;

namespace {

Type type_of(const JsonNode& value) {
  switch (value.kind) {
    case Kind::null:
      return Type::null;
    case Kind::boolean:
      return Type::boolean;
    case Kind::number:
      return Type::number;
    case Kind::string:
      return Type::string;
    case Kind::array:
      return Type::array;
    default:
      return Type::object;
  }
}

}  // namespace

bool ValueKeywords::equals(const std::vector<JsonId>& values, bool negated, ExpansionState& state) {
  std::vector<JsonId> same;
  for (const JsonId value : values)
    if (type_of(json_[value]) == type_) same.push_back(value);
  if (same.empty()) return negated;
  if (type_ == Type::null) return !negated;
  if (type_ == Type::boolean) {
    unsigned truths = 0;
    for (const JsonId value : same) truths |= json_[value].truth ? 2U : 1U;
    state.term.truths &= negated ? ~truths : truths;
    return state.term.truths != 0;
  }
  if (type_ == Type::number || type_ == Type::string) {
    state.term.allowed.push_back(scalar_set(same, negated));
    return true;
  }
  if (!negated) {
    std::vector<Alternative> choices;
    for (const JsonId value : same)
      choices.push_back({{}, [this, value](Term& term) { exactly(value, term); }});
    state.open.push_back(std::move(choices));
    return true;
  }
  for (const JsonId value : same) state.open.push_back(differs(value));
  return true;
}

DfaRef ValueKeywords::scalar_set(const std::vector<JsonId>& values, bool negated) {
  std::string key = negated ? "not" : "one";
  for (const JsonId value : values) key.append(" ").append(std::to_string(value));
  try {
    return e_.kept(key, [&] { return negated ? all_but(values) : any_of(values); });
  } catch (const Error& error) {
    e_.unsupported(values.size() > 1 ? json_[values.front()].parent : values.front(), error.what());
  }
}

Dfa ValueKeywords::any_of(const std::vector<JsonId>& values) const {
  std::vector<std::u32string> texts;
  for (const JsonId value : values) {
    texts.push_back(code_points(json_[value].text));
    if (type_ == Type::string) continue;
    const Decimal d = Decimal::of(json_[value].text);
    if (std::abs(d.exponent) >= 100) continue;
    texts.push_back(code_points(d.text()));
    if (d.whole()) texts.push_back(code_points(d.text() + ".0"));
  }
  return Dfa::literals(texts);
}

Dfa ValueKeywords::all_but(const std::vector<JsonId>& values) const {
  if (type_ == Type::string) return any_of(values).inverted();
  std::optional<Dfa> all;
  for (const JsonId value : values) {
    const Dfa one = related(Decimal::of(json_[value].text), kLess | kGreater);
    all = all ? all->both(one) : one;
  }
  return *all;
}

void ValueKeywords::exactly(JsonId value, Term& term) {
  const JsonNode& node = json_[value];
  term.leaves.push_back({value, true});
  term.required.insert(term.required.end(), node.names.begin(), node.names.end());
  at_least(term, node.items.size(), value);
  at_most(term, node.items.size(), value);
}

std::vector<Alternative> ValueKeywords::differs(JsonId value) {
  const JsonNode& node = json_[value];
  const std::uint64_t n = node.items.size();
  std::vector<Alternative> choices;
  choices.push_back({{}, [=](Term& term) { at_least(term, n + 1, value); }});
  if (type_ == Type::array && n > 0)
    choices.push_back({{}, [=](Term& term) { at_most(term, n - 1, value); }});
  for (std::uint64_t i = 0; i < n; ++i) {
    const Literal other{node.items[i], Literal::Kind::equals, true};
    if (type_ == Type::array) {
      choices.push_back({{}, [=](Term& term) {
                           at_least(term, i + 1, value);
                           term.items.push_back({i, other});
                         }});
      continue;
    }
    const std::string name = node.names[i];
    choices.push_back({{}, [=](Term& term) { forbid(term, name); }});
    choices.push_back({{}, [=](Term& term) {
                         term.required.push_back(name);
                         term.members.push_back({name, other});
                       }});
  }
  return choices;
}

bool ValueKeywords::deny_values(const std::vector<JsonId>& values,
                                std::vector<Alternative>& denials) {
  Alternative none;
  std::vector<JsonId> same;
  for (const JsonId value : values)
    if (type_of(json_[value]) == type_) same.push_back(value);
  if (same.empty()) return false;
  if (type_ == Type::null) return true;
  for (const JsonId value : same) none.literals.push_back({value, Literal::Kind::equals, true});
  denials.push_back(std::move(none));
  return true;
}

}  // namespace weft::grammar
