// Keywords of each type of value.

#include "schema/schema_keywords.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft::grammar {

using Kind = JsonNode::Kind;

template <class Either>
bool ValueKeywords::bound(bool lower, JsonId value, Either& either) {
  const std::uint64_t n = count(value);
  if (lower)
    return n == 0 ? either([](Term&) {}, [](Term& t) { t.min = 1, t.max = 0; })
                  : either([=](Term& t) { at_least(t, n, value); },
                           [=](Term& t) { at_most(t, n - 1, value); });
  return either([=](Term& t) { at_most(t, n, value); },
                [=](Term& t) { at_least(t, n + 1, value); });
}

int ValueKeywords::allowed_types(JsonId keyword) {
  const JsonNode& node = json_[keyword];
  std::vector<JsonId> names = node.kind == Kind::array ? node.items : std::vector<JsonId>{keyword};
  static constexpr std::string_view kNames[] = {"null",   "boolean", "number",
                                                "string", "array",   "object"};
  int allowed = 0;
  for (const JsonId name : names) {
    const std::string& text = json_[name].text;
    const auto known = std::find(std::begin(kNames), std::end(kNames), text);
    if (json_[name].kind != Kind::string ||
        (known == std::end(kNames) && text != "integer" && text != "any"))
      e_.wrong(keyword, "must be one of the names of types, or an array of them");
    if (text == "any") allowed = 2;
    if (text == "integer" && type_ == Type::number) allowed = std::max(allowed, 1);
    if (known != std::end(kNames) && static_cast<Type>(known - std::begin(kNames)) == type_)
      allowed = 2;
  }
  return allowed;
}

std::uint64_t ValueKeywords::count(JsonId keyword) {
  const Decimal d = json_[keyword].kind == Kind::number ? Decimal::of(json_[keyword].text)
                                                        : Decimal{true, "1", 0};
  if (d.negative || !d.whole() || d.digits.size() + static_cast<std::size_t>(d.exponent) > 18)
    e_.wrong(keyword, "must be a whole number, not negative");
  return std::stoull(d.whole_part());
}

Decimal ValueKeywords::number(JsonId keyword) {
  if (json_[keyword].kind != Kind::number) e_.wrong(keyword, "must be a number");
  return Decimal::of(json_[keyword].text);
}

template <class Either>
bool ValueKeywords::string_keyword(const std::string& key, JsonId value, Either& either) {
  if (key == "minLength" || key == "maxLength") return bound(key == "minLength", value, either);
  if (key != "pattern" && key != "format") return true;
  if (json_[value].kind != Kind::string) e_.wrong(value, "must be a string");
  const bool format = key == "format";
  const DfaRef dfa = format ? e_.format(value) : e_.pattern(value, json_[value].text);
  if (!dfa) return true;
  return either([&](Term& t) { t.allowed.push_back(dfa); },
                [this, value, dfa, format](Term& t) {
                  if (format) e_.unsupported(value, "its negation is needed here");
                  t.allowed.push_back(std::make_shared<const Dfa>(dfa->inverted()));
                });
}

template <class Either>
bool ValueKeywords::number_keyword(JsonId schema, const std::string& key, JsonId value,
                                   Either& either) {
  unsigned relations = 0;
  std::optional<Decimal> bound_value;
  if (key == "minimum" || key == "maximum") {
    // Draft 4: "exclusiveMinimum": true.
    const JsonId strict = find(schema, key == "minimum" ? "exclusiveMinimum" : "exclusiveMaximum");
    const bool exclusive =
        !absent(strict) && json_[strict].kind == Kind::boolean && json_[strict].truth;
    relations = (key == "minimum" ? kGreater : kLess) | (exclusive ? 0U : unsigned{kEqual});
  } else if (key == "exclusiveMinimum" || key == "exclusiveMaximum") {
    if (json_[value].kind == Kind::boolean) return true;
    relations = key == "exclusiveMinimum" ? kGreater : kLess;
  } else if (key != "multipleOf") {
    return true;
  }
  const Decimal n = number(value);
  const auto set = [this, key, n, value](unsigned wanted, bool opposite) {
    try {
      const std::string name = key + n.text() + std::to_string(wanted);
      if (wanted != 0) return e_.kept(name, [&] { return related(n, wanted); });
      const DfaRef all = e_.kept(name, [&] { return multiples(n); });
      if (!opposite) return all;
      const DfaRef plain = e_.kept("plain", [] { return related({}, kLess | kEqual | kGreater); });
      return std::make_shared<const Dfa>(plain->without(*all));
    } catch (const Error& error) {
      e_.unsupported(value, error.what());
    }
  };
  if (relations == 0 && (n.negative || n.zero())) e_.wrong(value, "must be above 0");
  const unsigned all = kLess | kEqual | kGreater;
  return either(
      [&](Term& t) { t.allowed.push_back(set(relations, false)); },
      [=](Term& t) { t.allowed.push_back(set(relations != 0 ? all & ~relations : 0, true)); });
}

template <class Either>
bool ValueKeywords::array_keyword(JsonId schema, const std::string& key, JsonId value,
                                  ExpansionState& state, std::vector<Alternative>* denials,
                                  Either& either) {
  if (key == "minItems" || key == "maxItems") return bound(key == "minItems", value, either);
  if (key == "uniqueItems") {
    if (json_[value].kind != Kind::boolean || !json_[value].truth) return true;
    return either([&](Term& t) { t.unique = value; },
                  [this, value](Term&) { e_.unsupported(value, "its negation is needed here"); });
  }
  if (key == "prefixItems" && json_[value].kind != Kind::array)
    e_.wrong(value, "must be an array of schemas");
  if (key == "contains") return contains_keyword(schema, value, state, denials);
  if (!denials) return true;
  if (key == "prefixItems" || (key == "items" && json_[value].kind == Kind::array)) {
    for (std::uint64_t i = 0; i < json_[value].items.size(); ++i) {
      const Literal other{json_[value].items[i], Literal::Kind::schema, true};
      denials->push_back({{}, [=](Term& t) {
                            at_least(t, i + 1, value);
                            t.items.push_back({i, other});
                          }});
    }
  } else if (key == "items") {
    if (!absent(find(schema, "prefixItems"))) e_.unsupported(value, "its negation is needed here");
    denials->push_back(
        {{}, [=](Term& t) {
           t.contains.push_back({{value, Literal::Kind::schema, true}, 1, Dfa::kUnbounded});
         }});
  } else if (key == "additionalItems") {
    e_.unsupported(value, "its negation is needed here");
  }
  return true;
}

bool ValueKeywords::contains_keyword(JsonId schema, JsonId value, ExpansionState& state,
                                     std::vector<Alternative>* denials) {
  const JsonId min_node = find(schema, "minContains"), max_node = find(schema, "maxContains");
  const std::uint64_t min = absent(min_node) ? 1 : count(min_node);
  const std::uint64_t max = absent(max_node) ? Dfa::kUnbounded : count(max_node);
  const Literal what{value};
  if (!denials) {
    state.term.contains.push_back({what, min, max});
    return min <= max;
  }
  if (min > 0) denials->push_back({{}, [=](Term& t) { t.contains.push_back({what, 0, min - 1}); }});
  if (max != Dfa::kUnbounded)
    denials->push_back({{}, [=](Term& t) {
                          t.contains.push_back({what, max + 1, Dfa::kUnbounded});
                        }});
  return true;
}

// "required", or the ways not to have all of these members.
void ValueKeywords::required(JsonId value, Term& term, std::vector<Alternative>* denials) {
  if (json_[value].kind == Kind::boolean) return;  // draft 3
  if (json_[value].kind != Kind::array) e_.wrong(value, "must be an array of names");
  for (const JsonId name : json_[value].items) {
    if (json_[name].kind != Kind::string) e_.wrong(name, "must be a name");
    const std::string& text = json_[name].text;
    if (!denials)
      term.required.push_back(text);
    else
      denials->push_back({{}, [text](Term& t) { forbid(t, text); }});
  }
}

// The ways not to be valid by "properties".
void ValueKeywords::deny_properties(JsonId value, std::vector<Alternative>& denials) {
  const JsonNode& node = json_[value];
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Literal other{node.items[i], Literal::Kind::schema, true};
    const std::string name = node.names[i];
    denials.push_back({{}, [name, other](Term& t) {
                         t.required.push_back(name);
                         t.members.push_back({name, other});
                       }});
  }
}

template <class Either>
bool ValueKeywords::object_keyword(const std::string& key, JsonId value, ExpansionState& state,
                                   std::vector<Alternative>* denials, Either& either) {
  const JsonNode& node = json_[value];
  static constexpr std::string_view kMaps[] = {"properties", "patternProperties", "dependencies",
                                               "dependentSchemas", "dependentRequired"};
  if (node.kind != Kind::object && std::ranges::count(kMaps, key) > 0)
    e_.wrong(value, "must be an object");
  const auto cannot_deny = [this, value](Term&) {
    e_.unsupported(value, "its negation is needed here");
  };
  if (key == "minProperties" || key == "maxProperties")
    return bound(key == "minProperties", value, either);
  if (key == "required") {
    required(value, state.term, denials);
  } else if (key == "propertyNames") {
    if (!denials)
      state.term.names.push_back({value});
    else
      denials->push_back({{}, cannot_deny});
  } else if (key == "dependentRequired" || key == "dependentSchemas" || key == "dependencies") {
    for (std::size_t i = 0; i < node.items.size(); ++i)
      dependency(node.names[i], node.items[i], state, denials);
  } else if (denials && key == "properties") {
    deny_properties(value, *denials);
  } else if (denials && (key == "patternProperties" || key == "additionalProperties")) {
    if (node.kind != Kind::boolean || !node.truth) denials->push_back({{}, cannot_deny});
  }
  return true;
}

void ValueKeywords::dependency(const std::string& name, JsonId value, ExpansionState& state,
                               std::vector<Alternative>* denials) {
  const JsonNode& node = json_[value];
  std::vector<std::string> others;
  for (const JsonId other : node.kind == Kind::array ? node.items : std::vector<JsonId>{})
    others.push_back(json_[other].text);
  if (node.kind == Kind::string) others.push_back(node.text);
  const bool names = node.kind == Kind::array || node.kind == Kind::string;
  if (names && others.empty()) return;
  if (denials) {
    if (!names)
      denials->push_back({{{value, Literal::Kind::schema, true}},
                          [name](Term& t) { t.required.push_back(name); }});
    for (const std::string& other : others)
      denials->push_back({{}, [name, other](Term& t) {
                            t.required.push_back(name);
                            forbid(t, other);
                          }});
    return;
  }
  std::vector<Alternative> choices{{{}, [name](Term& t) { forbid(t, name); }}, {{}, {}}};
  if (!names) choices[1].literals.push_back({value});
  choices[1].change = [name, others](Term& t) {
    t.required.insert(t.required.end(), others.begin(), others.end());
    t.required.push_back(name);
  };
  state.open.push_back(std::move(choices));
}

bool ValueKeywords::assertion(JsonId schema, const std::string& key, JsonId value,
                              ExpansionState& state, std::vector<Alternative>* denials) {
  const auto either = [&](auto&& positive, auto&& negative) {
    if (!denials)
      positive(state.term);
    else
      denials->push_back({{}, negative});
    return true;
  };
  if (key == "type") {
    const int allowed = allowed_types(value);
    if (allowed == 0) return false;
    if (allowed == 2) return true;
    return either([&](Term& t) { t.allowed.push_back(e_.kept("integer", any_integer)); },
                  [this](Term& t) { t.allowed.push_back(e_.kept("fraction", any_fraction)); });
  }
  if (key == "const" || key == "enum") {
    if (key == "enum" && json_[value].kind != Kind::array) e_.wrong(value, "must be an array");
    const auto values = key == "enum" ? json_[value].items : std::vector<JsonId>{value};
    if (!denials) return equals(values, false, state);
    return deny_values(values, *denials);
  }
  switch (type_) {
    case Type::string:
      return string_keyword(key, value, either);
    case Type::number:
      return number_keyword(schema, key, value, either);
    case Type::array:
      return array_keyword(schema, key, value, state, denials, either);
    case Type::object:
      return object_keyword(key, value, state, denials, either);
    default:
      return true;
  }
}

}  // namespace weft::grammar
