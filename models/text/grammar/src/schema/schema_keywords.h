#pragma once
// Keywords of JSON Schema about values of one type: how they change a term, or the ways to violate
// them.

#include "schema/numbers.h"
#include "schema/schema.h"

namespace weft::grammar {

// More literals, and a change of the term.
struct Alternative {
  Conjunction literals;
  std::function<void(Term&)> change;
};

// A term in progress: literals to process, and those that were processed.
struct ExpansionState {
  Conjunction todo, seen;
  std::vector<std::vector<Alternative>> open;  // one alternative of each must hold
  Term term;
};

// All throw FormatError if a keyword has a wrong value, UnsupportedError if its meaning is
// beyond a grammar.
class ValueKeywords {
 public:
  ValueKeywords(SchemaExpander& expander, Type type)
      : e_(expander), json_(expander.json_), type_(type) {}

  // The values of this type that "type" allows: 0 none, 1 whole numbers, 2 all.
  int allowed_types(JsonId keyword);
  // The value is one of these, or (negated) none of them. False if it cannot be.
  bool equals(const std::vector<JsonId>& values, bool negated, ExpansionState& state);
  // Makes a keyword hold (false: it cannot), or, if there are `denials`, adds the ways to violate
  // it to them (false: it is always violated).
  bool assertion(JsonId schema, const std::string& key, JsonId value, ExpansionState& state,
                 std::vector<Alternative>* denials);

 private:
  DfaRef scalar_set(const std::vector<JsonId>& values, bool negated);
  Dfa any_of(const std::vector<JsonId>& values) const;
  Dfa all_but(const std::vector<JsonId>& values) const;
  void exactly(JsonId value, Term& term);
  std::vector<Alternative> differs(JsonId value);
  std::uint64_t count(JsonId keyword);
  Decimal number(JsonId keyword);
  bool deny_values(const std::vector<JsonId>& values, std::vector<Alternative>& denials);
  template <class Either>
  bool string_keyword(const std::string& key, JsonId value, Either& either);
  template <class Either>
  bool bound(bool lower, JsonId value, Either& either);
  template <class Either>
  bool number_keyword(JsonId schema, const std::string& key, JsonId value, Either& either);
  template <class Either>
  bool array_keyword(JsonId schema, const std::string& key, JsonId value, ExpansionState& state,
                     std::vector<Alternative>* denials, Either& either);
  bool contains_keyword(JsonId schema, JsonId value, ExpansionState& state,
                        std::vector<Alternative>* denials);
  void required(JsonId value, Term& term, std::vector<Alternative>* denials);
  void deny_properties(JsonId value, std::vector<Alternative>& denials);
  template <class Either>
  bool object_keyword(const std::string& key, JsonId value, ExpansionState& state,
                      std::vector<Alternative>* denials, Either& either);
  // If `name` is a member, other members must be, or the whole must be valid by a schema.
  void dependency(const std::string& name, JsonId value, ExpansionState& state,
                  std::vector<Alternative>* denials);

  static void at_least(Term& term, std::uint64_t n, JsonId at) {
    if (n > term.min) term.min = n, term.bounds_at = at;
  }
  static void at_most(Term& term, std::uint64_t n, JsonId at) {
    if (n < term.max) term.max = n, term.bounds_at = at;
  }
  static void forbid(Term& term, const std::string& name) {
    term.members.push_back({name, {0, Literal::Kind::never}});
  }

  JsonId find(JsonId schema, const char* key) const { return json_.find(schema, key); }
  static bool absent(JsonId id) { return id == JsonTree::kNone; }

  SchemaExpander& e_;
  const JsonTree& json_;
  Type type_;
};

}  // namespace weft::grammar
