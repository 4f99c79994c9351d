// From a conjunction to the terms of one type: keywords that combine schemas are worked off one
// after the other, each keyword that says something of values changes the term.

#include <algorithm>

#include "weft/graph/error.h"

#include "text/grammar/numbers.h"
#include "text/grammar/schema.h"

namespace weft::grammar {

namespace {

using Kind = JsonNode::Kind;

constexpr std::size_t kMaxSteps = 200'000;  // ways to combine parts, of some kB each
constexpr int kMaxDepth = 40;

bool contains(const Conjunction& set, const Literal& literal) {
  return std::find(set.begin(), set.end(), literal) != set.end();
}

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

// One expansion. A choice is one way to go on: more literals, and what changes in the term.
class Expansion {
 public:
  Expansion(SchemaExpander& expander, Type type)
      : e_(expander), json_(expander.json_), type_(type) {}

  std::vector<Term> run(const Conjunction& what) {
    State state;
    state.todo = what;
    go(std::move(state));
    return std::move(terms_);
  }

 private:
  struct Choice {
    Conjunction literals;
    std::function<void(Term&)> change;
  };
  struct State {
    Conjunction todo, seen;
    std::vector<std::vector<Choice>> open;  // of each, one must hold
    Term term;
  };

  void go(State state) {
    if (++e_.steps_ > kMaxSteps)
      fail<BudgetError>("more than {} combinations of its parts", kMaxSteps);
    for (;;) {
      while (!state.todo.empty()) {
        const Literal literal = state.todo.back();
        state.todo.pop_back();
        if (contains(state.seen, literal)) continue;
        if (contains(state.seen, !literal)) return;
        state.seen.push_back(literal);
        if (!take(literal, state)) return;
      }
      if (state.open.empty()) return terms_.push_back(std::move(state.term));
      const std::vector<Choice> choices = std::move(state.open.back());
      state.open.pop_back();
      for (std::size_t i = 0; i + 1 < choices.size(); ++i) {
        State copy = state;
        choose(copy, choices[i]);
        go(std::move(copy));
      }
      if (choices.empty()) return;
      choose(state, choices.back());
    }
  }

  static void choose(State& state, const Choice& choice) {
    state.todo.insert(state.todo.end(), choice.literals.begin(), choice.literals.end());
    if (choice.change) choice.change(state.term);
  }

  // False where the literal cannot hold.
  bool take(const Literal& literal, State& state) {
    if (literal.kind == Literal::Kind::never) return literal.negated;
    if (literal.kind == Literal::Kind::equals)
      return equals({literal.node}, literal.negated, state);
    const JsonNode& node = json_[literal.node];
    if (node.kind == Kind::boolean) return node.truth != literal.negated;
    if (node.kind != Kind::object)
      e_.wrong(literal.node, "a schema must be an object or a boolean");
    return literal.negated ? deny(literal.node, state) : demand(literal.node, state);
  }

  JsonId find(JsonId schema, const char* key) const { return json_.find(schema, key); }
  bool absent(JsonId id) const { return id == JsonTree::kNone; }
  const std::string& name_of(JsonId keyword) const {
    return json_[json_[keyword].parent].names[json_[keyword].index];
  }

  // --- all keywords of a schema hold ---

  bool demand(JsonId schema, State& state) {
    const JsonNode& node = json_[schema];
    const JsonId ref = find(schema, "$ref");
    if (!absent(ref)) {
      state.todo.push_back({e_.references_.resolve(ref)});
      if (e_.references_.old_draft()) return true;
    }
    bool leaf = false;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::string& key = node.names[i];
      const JsonId value = node.items[i];
      leaf |= is_leaf_keyword(key);
      if (key == "$dynamicRef" || key == "$recursiveRef") {
        state.todo.push_back({e_.references_.resolve(value)});
      } else if (key == "allOf" || key == "anyOf" || key == "oneOf") {
        if (!combine(key, list(value), state)) return false;
      } else if (key == "not") {
        state.todo.push_back({value, Literal::Kind::schema, true});
      } else if (key == "if") {
        conditional(schema, value, state);
      } else if (key == "unevaluatedItems" || key == "unevaluatedProperties") {
        check_unevaluated(schema, value);
      } else if (!assertion(schema, key, value, false, state, nullptr)) {
        return false;
      }
    }
    if (leaf) state.term.leaves.push_back({schema, false});
    return true;
  }

  bool is_leaf_keyword(const std::string& key) const {
    if (type_ == Type::object)
      return key == "properties" || key == "patternProperties" || key == "additionalProperties" ||
             key == "unevaluatedProperties";
    return type_ == Type::array && (key == "items" || key == "prefixItems" ||
                                    key == "additionalItems" || key == "unevaluatedItems");
  }

  // What parts of a schema have evaluated is known here only where it has no such parts.
  void check_unevaluated(JsonId schema, JsonId keyword) {
    if ((type_ == Type::array) != (name_of(keyword) == "unevaluatedItems")) return;
    if (type_ != Type::array && type_ != Type::object) return;
    if (json_[keyword].kind == Kind::boolean && json_[keyword].truth) return;
    for (const char* key : {"$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if",
                            "dependentSchemas", "not", "contains"}) {
      if (!absent(find(schema, key))) e_.unsupported(keyword, fmt::format("beside '{}'", key));
    }
  }

  std::vector<JsonId> list(JsonId keyword) {
    if (json_[keyword].kind != Kind::array || json_[keyword].items.empty())
      e_.wrong(keyword, "must be an array of schemas, not empty");
    return json_[keyword].items;
  }

  bool combine(const std::string& key, const std::vector<JsonId>& schemas, State& state) {
    if (key == "allOf") {
      // The first one is worked off first: members come in this order.
      for (auto schema = schemas.rbegin(); schema != schemas.rend(); ++schema)
        state.todo.push_back({*schema});
      return true;
    }
    std::vector<Choice> choices;
    if (key == "anyOf") {
      for (const JsonId schema : schemas) choices.push_back({{{schema}}, {}});
    } else {
      choices = exactly_one(schemas);
    }
    state.open.push_back(std::move(choices));
    return true;
  }

  // Each schema with the opposite of those that could hold beside it.
  std::vector<Choice> exactly_one(const std::vector<JsonId>& schemas) {
    std::vector<Choice> choices;
    if (e_.looking_ > 0) {
      // Only whether there may be a value is asked: one schema or another will do, so that no
      // question is asked within a question.
      for (const JsonId schema : schemas) choices.push_back({{{schema}}, {}});
      return choices;
    }
    std::vector<JsonId> likely;
    for (const JsonId schema : schemas)
      if (possible({{schema}})) likely.push_back(schema);
    for (const JsonId schema : likely) choices.push_back({{{schema}}, {}});
    for (std::size_t i = 0; i < likely.size(); ++i) {
      for (std::size_t j = i + 1; j < likely.size(); ++j) {
        Conjunction two{{likely[i]}, {likely[j]}};
        if (!possible(two)) continue;
        choices[i].literals.push_back({likely[j], Literal::Kind::schema, true});
        choices[j].literals.push_back({likely[i], Literal::Kind::schema, true});
      }
    }
    return choices;
  }

  bool possible(const Conjunction& what) {
    ++e_.looking_;
    const std::vector<Term> terms = e_.expand(what, type_);
    const bool any = std::any_of(terms.begin(), terms.end(),
                                 [&](const Term& term) { return e_.possible(term, type_, 2); });
    --e_.looking_;
    return any;
  }

  void conditional(JsonId schema, JsonId condition, State& state) {
    const JsonId then = find(schema, "then"), otherwise = find(schema, "else");
    if (absent(then) && absent(otherwise)) return;
    std::vector<Choice> choices{{{{condition}}, {}},
                                {{{condition, Literal::Kind::schema, true}}, {}}};
    if (!absent(then)) choices[0].literals.push_back({then});
    if (!absent(otherwise)) choices[1].literals.push_back({otherwise});
    state.open.push_back(std::move(choices));
  }

  // --- one keyword at least does not hold ---

  bool deny(JsonId schema, State& state) {
    const JsonNode& node = json_[schema];
    std::vector<Choice> choices;
    const JsonId ref = find(schema, "$ref");
    if (!absent(ref)) {
      choices.push_back({{{e_.references_.resolve(ref), Literal::Kind::schema, true}}, {}});
      if (e_.references_.old_draft()) {
        state.open.push_back(std::move(choices));
        return true;
      }
    }
    // A value of another type than the schema's is denied by that alone.
    const JsonId type = find(schema, "type");
    if (!absent(type) && allowed_types(type) == 0) return true;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::string& key = node.names[i];
      const JsonId value = node.items[i];
      if (key == "$dynamicRef" || key == "$recursiveRef") {
        choices.push_back({{{e_.references_.resolve(value), Literal::Kind::schema, true}}, {}});
      } else if (key == "allOf") {
        for (const JsonId s : list(value))
          choices.push_back({{{s, Literal::Kind::schema, true}}, {}});
      } else if (key == "anyOf" || key == "oneOf") {
        deny_all(key, list(value), choices);
      } else if (key == "not") {
        choices.push_back({{{value}}, {}});
      } else if (key == "if") {
        const JsonId then = find(schema, "then"), otherwise = find(schema, "else");
        if (!absent(then)) choices.push_back({{{value}, {then, Literal::Kind::schema, true}}, {}});
        if (!absent(otherwise))
          choices.push_back(
              {{{value, Literal::Kind::schema, true}, {otherwise, Literal::Kind::schema, true}},
               {}});
      } else if (key == "unevaluatedItems" || key == "unevaluatedProperties") {
        if (type_ == Type::array || type_ == Type::object)
          e_.unsupported(value, "its opposite is needed here");
      } else if (!assertion(schema, key, value, true, state, &choices)) {
        return true;  // this one never holds
      }
    }
    state.open.push_back(std::move(choices));
    return true;
  }

  void deny_all(const std::string& key, const std::vector<JsonId>& schemas,
                std::vector<Choice>& choices) {
    Choice none;
    for (const JsonId s : schemas) none.literals.push_back({s, Literal::Kind::schema, true});
    choices.push_back(std::move(none));
    if (key == "anyOf") return;
    for (std::size_t i = 0; i < schemas.size(); ++i)
      for (std::size_t j = i + 1; j < schemas.size(); ++j)
        choices.push_back({{{schemas[i]}, {schemas[j]}}, {}});
  }

  // --- keywords about values ---

  // What "type" leaves of the type at hand: 0 nothing, 1 whole numbers, 2 all of it.
  int allowed_types(JsonId keyword) {
    const JsonNode& node = json_[keyword];
    std::vector<JsonId> names =
        node.kind == Kind::array ? node.items : std::vector<JsonId>{keyword};
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

  // The value is one of these, or (negated) none of them.
  bool equals(const std::vector<JsonId>& values, bool negated, State& state) {
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
      std::vector<Choice> choices;
      for (const JsonId value : same)
        choices.push_back({{}, [this, value](Term& term) { exactly(value, term); }});
      state.open.push_back(std::move(choices));
      return true;
    }
    for (const JsonId value : same) state.open.push_back(differs(value));
    return true;
  }

  DfaRef scalar_set(const std::vector<JsonId>& values, bool negated) {
    std::string key = negated ? "not" : "one";
    for (const JsonId value : values) key.append(" ").append(std::to_string(value));
    try {
      return e_.kept(key, [&] { return negated ? all_but(values) : any_of(values); });
    } catch (const Error& error) {
      e_.unsupported(values.size() > 1 ? json_[values.front()].parent : values.front(),
                     error.what());
    }
  }

  Dfa any_of(const std::vector<JsonId>& values) const {
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

  Dfa all_but(const std::vector<JsonId>& values) const {
    if (type_ == Type::string) return any_of(values).inverted();
    std::optional<Dfa> all;
    for (const JsonId value : values) {
      const Dfa one = related(Decimal::of(json_[value].text), kLess | kGreater);
      all = all ? all->both(one) : one;
    }
    return *all;
  }

  void exactly(JsonId value, Term& term) {
    const JsonNode& node = json_[value];
    term.leaves.push_back({value, true});
    term.required.insert(term.required.end(), node.names.begin(), node.names.end());
    at_least(term, node.items.size(), value);
    at_most(term, node.items.size(), value);
  }

  std::vector<Choice> differs(JsonId value) {
    const JsonNode& node = json_[value];
    const std::uint64_t n = node.items.size();
    std::vector<Choice> choices;
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

  static void at_least(Term& term, std::uint64_t n, JsonId at) {
    if (n > term.min) term.min = n, term.bounds_at = at;
  }
  static void at_most(Term& term, std::uint64_t n, JsonId at) {
    if (n < term.max) term.max = n, term.bounds_at = at;
  }
  static void forbid(Term& term, const std::string& name) {
    term.members.push_back({name, {0, Literal::Kind::never}});
  }

  std::uint64_t count(JsonId keyword) {
    const Decimal d = json_[keyword].kind == Kind::number ? Decimal::of(json_[keyword].text)
                                                          : Decimal{true, "1", 0};
    if (d.negative || !d.whole() || d.digits.size() + static_cast<std::size_t>(d.exponent) > 18)
      e_.wrong(keyword, "must be a whole number, not negative");
    return std::stoull(d.whole_part());
  }

  Decimal number(JsonId keyword) {
    if (json_[keyword].kind != Kind::number) e_.wrong(keyword, "must be a number");
    return Decimal::of(json_[keyword].text);
  }

  // Makes a keyword hold (false: it cannot), or adds the ways not to fulfil it to `denials` (false:
  // it is certainly not fulfilled).
  bool assertion(JsonId schema, const std::string& key, JsonId value, bool negated, State& state,
                 std::vector<Choice>* denials) {
    const auto either = [&](auto&& positive, auto&& negative) {
      if (!negated)
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
      if (!negated) return equals(values, false, state);
      return deny_values(values, *denials);
    }
    switch (type_) {
      case Type::string:
        return string_keyword(key, value, either);
      case Type::number:
        return number_keyword(schema, key, value, either);
      case Type::array:
        return array_keyword(schema, key, value, negated, state, denials, either);
      case Type::object:
        return object_keyword(key, value, negated, state, denials, either);
      default:
        return true;
    }
  }

  bool deny_values(const std::vector<JsonId>& values, std::vector<Choice>& denials) {
    Choice none;
    std::vector<JsonId> same;
    for (const JsonId value : values)
      if (type_of(json_[value]) == type_) same.push_back(value);
    if (same.empty()) return false;
    if (type_ == Type::null) return true;
    for (const JsonId value : same) none.literals.push_back({value, Literal::Kind::equals, true});
    denials.push_back(std::move(none));
    return true;
  }

  template <class Either>
  bool string_keyword(const std::string& key, JsonId value, Either& either) {
    if (key == "minLength" || key == "maxLength") return bound(key == "minLength", value, either);
    if (key != "pattern" && key != "format") return true;
    if (json_[value].kind != Kind::string) e_.wrong(value, "must be a string");
    const bool format = key == "format";
    const DfaRef dfa = format ? e_.format(value) : e_.pattern(value, json_[value].text);
    if (!dfa) return true;
    return either([&](Term& t) { t.allowed.push_back(dfa); },
                  [this, value, dfa, format](Term& t) {
                    if (format) e_.unsupported(value, "its opposite is needed here");
                    t.allowed.push_back(std::make_shared<const Dfa>(dfa->inverted()));
                  });
  }

  template <class Either>
  bool bound(bool lower, JsonId value, Either& either) {
    const std::uint64_t n = count(value);
    if (lower)
      return n == 0 ? either([](Term&) {}, [](Term& t) { t.min = 1, t.max = 0; })
                    : either([=](Term& t) { at_least(t, n, value); },
                             [=](Term& t) { at_most(t, n - 1, value); });
    return either([=](Term& t) { at_most(t, n, value); },
                  [=](Term& t) { at_least(t, n + 1, value); });
  }

  template <class Either>
  bool number_keyword(JsonId schema, const std::string& key, JsonId value, Either& either) {
    unsigned relations = 0;
    std::optional<Decimal> bound_value;
    if (key == "minimum" || key == "maximum") {
      // Draft 4: "exclusiveMinimum": true.
      const JsonId strict =
          find(schema, key == "minimum" ? "exclusiveMinimum" : "exclusiveMaximum");
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
        const DfaRef plain =
            e_.kept("plain", [] { return related({}, kLess | kEqual | kGreater); });
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
  bool array_keyword(JsonId schema, const std::string& key, JsonId value, bool negated,
                     State& state, std::vector<Choice>* denials, Either& either) {
    if (key == "minItems" || key == "maxItems") return bound(key == "minItems", value, either);
    if (key == "uniqueItems") {
      if (json_[value].kind != Kind::boolean || !json_[value].truth) return true;
      return either([&](Term& t) { t.unique = value; },
                    [this, value](Term&) { e_.unsupported(value, "its opposite is needed here"); });
    }
    if (key == "prefixItems" && json_[value].kind != Kind::array)
      e_.wrong(value, "must be an array of schemas");
    if (key == "contains") return contains_keyword(schema, value, negated, state, denials);
    if (!negated) return true;
    if (key == "prefixItems" || (key == "items" && json_[value].kind == Kind::array)) {
      for (std::uint64_t i = 0; i < json_[value].items.size(); ++i) {
        const Literal other{json_[value].items[i], Literal::Kind::schema, true};
        denials->push_back({{}, [=](Term& t) {
                              at_least(t, i + 1, value);
                              t.items.push_back({i, other});
                            }});
      }
    } else if (key == "items") {
      if (!absent(find(schema, "prefixItems")))
        e_.unsupported(value, "its opposite is needed here");
      denials->push_back(
          {{}, [=](Term& t) {
             t.contains.push_back({{value, Literal::Kind::schema, true}, 1, Dfa::kUnbounded});
           }});
    } else if (key == "additionalItems") {
      e_.unsupported(value, "its opposite is needed here");
    }
    return true;
  }

  bool contains_keyword(JsonId schema, JsonId value, bool negated, State& state,
                        std::vector<Choice>* denials) {
    const JsonId least = find(schema, "minContains"), most = find(schema, "maxContains");
    const std::uint64_t min = absent(least) ? 1 : count(least);
    const std::uint64_t max = absent(most) ? Dfa::kUnbounded : count(most);
    const Literal what{value};
    if (!negated) {
      state.term.contains.push_back({what, min, max});
      return min <= max;
    }
    if (min > 0)
      denials->push_back({{}, [=](Term& t) { t.contains.push_back({what, 0, min - 1}); }});
    if (max != Dfa::kUnbounded)
      denials->push_back({{}, [=](Term& t) {
                            t.contains.push_back({what, max + 1, Dfa::kUnbounded});
                          }});
    return true;
  }

  template <class Either>
  bool object_keyword(const std::string& key, JsonId value, bool negated, State& state,
                      std::vector<Choice>* denials, Either& either) {
    const JsonNode& node = json_[value];
    static constexpr std::string_view kMaps[] = {"properties", "patternProperties", "dependencies",
                                                 "dependentSchemas", "dependentRequired"};
    if (node.kind != Kind::object && std::ranges::count(kMaps, key) > 0)
      e_.wrong(value, "must be an object");
    if (key == "minProperties" || key == "maxProperties")
      return bound(key == "minProperties", value, either);
    if (key == "required") {
      if (node.kind == Kind::boolean) return true;  // draft 3
      if (node.kind != Kind::array) e_.wrong(value, "must be an array of names");
      for (const JsonId name : node.items) {
        if (json_[name].kind != Kind::string) e_.wrong(name, "must be a name");
        const std::string& text = json_[name].text;
        if (!negated)
          state.term.required.push_back(text);
        else
          denials->push_back({{}, [text](Term& t) { forbid(t, text); }});
      }
    } else if (key == "propertyNames") {
      if (!negated)
        state.term.names.push_back({value});
      else
        denials->push_back(
            {{}, [this, value](Term&) { e_.unsupported(value, "its opposite is needed here"); }});
    } else if (key == "dependentRequired" || key == "dependentSchemas" || key == "dependencies") {
      for (std::size_t i = 0; i < node.items.size(); ++i)
        dependency(node.names[i], node.items[i], negated, state, denials);
    } else if (negated && key == "properties") {
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        const Literal other{node.items[i], Literal::Kind::schema, true};
        const std::string name = node.names[i];
        denials->push_back({{}, [name, other](Term& t) {
                              t.required.push_back(name);
                              t.members.push_back({name, other});
                            }});
      }
    } else if (negated && (key == "patternProperties" || key == "additionalProperties")) {
      if (node.kind == Kind::boolean && node.truth) return true;
      denials->push_back(
          {{}, [this, value](Term&) { e_.unsupported(value, "its opposite is needed here"); }});
    }
    return true;
  }

  // Where `name` is a member, other members must be, or the whole must be valid by a schema.
  void dependency(const std::string& name, JsonId value, bool negated, State& state,
                  std::vector<Choice>* denials) {
    const JsonNode& node = json_[value];
    std::vector<std::string> others;
    for (const JsonId other : node.kind == Kind::array ? node.items : std::vector<JsonId>{})
      others.push_back(json_[other].text);
    if (node.kind == Kind::string) others.push_back(node.text);
    const bool names = node.kind == Kind::array || node.kind == Kind::string;
    if (names && others.empty()) return;
    if (negated) {
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
    std::vector<Choice> choices{{{}, [name](Term& t) { forbid(t, name); }}, {{}, {}}};
    if (!names) choices[1].literals.push_back({value});
    choices[1].change = [name, others](Term& t) {
      t.required.insert(t.required.end(), others.begin(), others.end());
      t.required.push_back(name);
    };
    state.open.push_back(std::move(choices));
  }

  SchemaExpander& e_;
  const JsonTree& json_;
  Type type_;
  std::vector<Term> terms_;
};

std::vector<Term> SchemaExpander::expand(const Conjunction& what, Type type) {
  if (++depth_ > kMaxDepth) {
    depth_ = 0;
    fail<FormatError>("schema {}: oneOf within oneOf without end",
                      what.empty() ? "#" : json_.pointer(what.front().node));
  }
  std::vector<Term> terms = Expansion(*this, type).run(what);
  --depth_;
  return terms;
}

}  // namespace weft::grammar
