// From a conjunction to the terms of one type: keywords that combine schemas are processed one
// after the other; those about values change the term (schema_keywords.h).

#include <algorithm>

#include "weft/base/error.h"

#include "compile_work.h"
#include "schema/schema_keywords.h"

namespace weft::grammar {

namespace {

using Kind = JsonNode::Kind;

constexpr std::size_t kMaxSteps = 200'000;  // ways to combine parts, of some kB each
constexpr std::uint64_t kSteps = 50;        // of compiling, to copy one of them
constexpr int kMaxExpansionDepth = 40;

bool contains(const Conjunction& set, const Literal& literal) {
  return std::find(set.begin(), set.end(), literal) != set.end();
}

}  // namespace

// The expansion of one conjunction for one type.
class Expansion {
 public:
  Expansion(SchemaExpander& expander, Type type)
      : e_(expander), json_(expander.json_), type_(type), keywords_(expander, type) {}

  std::vector<Term> run(const Conjunction& what) {
    State state;
    state.todo = what;
    go(std::move(state));
    return std::move(terms_);
  }

 private:
  using State = ExpansionState;

  void go(State state) {
    if (++e_.steps_ > kMaxSteps)
      fail<BudgetError>("more than {} combinations of its parts", kMaxSteps);
    CompileWork::add(kSteps + state.todo.size() + state.seen.size());
    for (;;) {
      while (!state.todo.empty()) {
        const Literal literal = state.todo.back();
        state.todo.pop_back();
        CompileWork::add(1 + state.seen.size() / 8);
        if (contains(state.seen, literal)) continue;
        if (contains(state.seen, !literal)) return;
        state.seen.push_back(literal);
        if (!take(literal, state)) return;
      }
      if (state.open.empty()) return terms_.push_back(std::move(state.term));
      const std::vector<Alternative> choices = std::move(state.open.back());
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

  static void choose(State& state, const Alternative& choice) {
    state.todo.insert(state.todo.end(), choice.literals.begin(), choice.literals.end());
    if (choice.change) choice.change(state.term);
  }

  // False if the literal cannot hold.
  bool take(const Literal& literal, State& state) {
    if (literal.kind == Literal::Kind::never) return literal.negated;
    if (literal.kind == Literal::Kind::equals)
      return keywords_.equals({literal.node}, literal.negated, state);
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

  // Refuses a schema whose reference leads to a reference, and so on, back to it.
  void check_end(JsonId schema, JsonId ref) const {
    constexpr int kMaxChain = 64;
    JsonId next = ref;
    for (int i = 0; i < kMaxChain && !absent(next); ++i) {
      const JsonId target = e_.references_.resolve(next);
      if (target == schema) e_.wrong(ref, "refers to itself without end");
      next = find(target, "$ref");
    }
  }

  // --- all keywords of a schema hold ---

  bool demand(JsonId schema, State& state) {
    const JsonNode& node = json_[schema];
    const JsonId ref = find(schema, "$ref");
    if (!absent(ref)) {
      check_end(schema, ref);
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
      } else if (!keywords_.assertion(schema, key, value, state, nullptr)) {
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

  // Only schemas without subschemas are supported: members that those evaluate are not known here.
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
      // The last one pushed is processed first, so members come in the order of the schemas.
      for (auto schema = schemas.rbegin(); schema != schemas.rend(); ++schema)
        state.todo.push_back({*schema});
      return true;
    }
    std::vector<Alternative> choices;
    if (key == "anyOf") {
      for (const JsonId schema : schemas) choices.push_back({{{schema}}, {}});
    } else {
      choices = exactly_one(schemas);
    }
    state.open.push_back(std::move(choices));
    return true;
  }

  // Each schema, with the negation of those that could hold at the same time.
  std::vector<Alternative> exactly_one(const std::vector<JsonId>& schemas) {
    std::vector<Alternative> choices;
    if (e_.looking_ > 0) {
      // The caller only checks whether there may be a value. Any of the schemas suffices for that,
      // so that checks are not nested.
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
    std::vector<Alternative> choices{{{{condition}}, {}},
                                     {{{condition, Literal::Kind::schema, true}}, {}}};
    if (!absent(then)) choices[0].literals.push_back({then});
    if (!absent(otherwise)) choices[1].literals.push_back({otherwise});
    state.open.push_back(std::move(choices));
  }

  // --- at least one keyword does not hold ---

  bool deny(JsonId schema, State& state) {
    const JsonNode& node = json_[schema];
    std::vector<Alternative> choices;
    const JsonId ref = find(schema, "$ref");
    if (!absent(ref)) {
      choices.push_back({{{e_.references_.resolve(ref), Literal::Kind::schema, true}}, {}});
      if (e_.references_.old_draft()) {
        state.open.push_back(std::move(choices));
        return true;
      }
    }
    // A value of another type does not match the schema, regardless of its other keywords.
    const JsonId type = find(schema, "type");
    if (!absent(type) && keywords_.allowed_types(type) == 0) return true;
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
        deny_conditional(schema, value, choices);
      } else if (key == "unevaluatedItems" || key == "unevaluatedProperties") {
        if (type_ == Type::array || type_ == Type::object)
          e_.unsupported(value, "its negation is needed here");
      } else if (!keywords_.assertion(schema, key, value, state, &choices)) {
        return true;  // this one never holds
      }
    }
    state.open.push_back(std::move(choices));
    return true;
  }

  void deny_conditional(JsonId schema, JsonId condition, std::vector<Alternative>& choices) {
    const JsonId then = find(schema, "then"), otherwise = find(schema, "else");
    if (!absent(then)) choices.push_back({{{condition}, {then, Literal::Kind::schema, true}}, {}});
    if (!absent(otherwise))
      choices.push_back(
          {{{condition, Literal::Kind::schema, true}, {otherwise, Literal::Kind::schema, true}},
           {}});
  }

  void deny_all(const std::string& key, const std::vector<JsonId>& schemas,
                std::vector<Alternative>& choices) {
    Alternative none;
    for (const JsonId s : schemas) none.literals.push_back({s, Literal::Kind::schema, true});
    choices.push_back(std::move(none));
    if (key == "anyOf") return;
    for (std::size_t i = 0; i < schemas.size(); ++i)
      for (std::size_t j = i + 1; j < schemas.size(); ++j)
        choices.push_back({{{schemas[i]}, {schemas[j]}}, {}});
  }

  SchemaExpander& e_;
  const JsonTree& json_;
  Type type_;
  ValueKeywords keywords_;
  std::vector<Term> terms_;
};

std::vector<Term> SchemaExpander::expand(const Conjunction& what, Type type) {
  if (++depth_ > kMaxExpansionDepth) {
    depth_ = 0;
    fail<FormatError>("schema {}: oneOf is nested without end",
                      what.empty() ? "#" : json_.pointer(what.front().node));
  }
  std::vector<Term> terms = Expansion(*this, type).run(what);
  --depth_;
  return terms;
}

bool SchemaExpander::is_closed(const Term& term, std::size_t n_named) const {
  const auto any_has = [&](const char* key) {
    return std::ranges::any_of(term.leaves, [&](const Term::Leaf& leaf) {
      return !leaf.is_value && json_.find(leaf.node, key) != JsonTree::kNone;
    });
  };
  return options_.closed_objects && any_has("properties") && !any_has("additionalProperties") &&
         !any_has("unevaluatedProperties") && term.min <= n_named;
}

SchemaExpander::Patterns SchemaExpander::only_patterns(const Term& term) {
  const Literal never{0, Literal::Kind::never};
  Patterns only{{}, never};
  for (const Term::Leaf& leaf : term.leaves)
    for (const auto& [dfa, literal] : patterns(leaf).patterns)
      only.patterns.push_back({dfa, !never});
  return only;
}

}  // namespace weft::grammar
