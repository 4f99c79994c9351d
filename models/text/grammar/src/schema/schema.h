#pragma once
// Compiles a JSON Schema. The conditions for a value are a conjunction of literals:
// "is valid by this schema", "equals this value", or their negations. For each type of value the
// conjunction is expanded into terms. One of them must hold; a term is a plain description of
// values of that type. Rules are generated from terms. The number of conjunctions is finite, so
// recursive schemas become rules that call each other.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/grammar/grammar.h"

#include "automaton.h"
#include "compiled_grammar.h"
#include "schema/json_tree.h"

namespace weft::grammar {

struct Literal {
  enum class Kind : std::uint8_t { schema, equals, never };
  JsonId node = 0;
  Kind kind = Kind::schema;
  bool negated = false;
  auto operator<=>(const Literal&) const = default;
  Literal operator!() const { return {node, kind, !negated}; }
};
using Conjunction = std::vector<Literal>;  // sorted

enum class Type : std::uint8_t { null, boolean, number, string, array, object };
inline constexpr Type kTypes[] = {Type::null,   Type::boolean, Type::number,
                                  Type::string, Type::array,   Type::object};

using DfaRef = std::shared_ptr<const Dfa>;

// Values of one type.
struct Term {
  unsigned truths = 3;                           // booleans: bit 0 false, bit 1 true
  std::vector<DfaRef> allowed;                   // numbers, strings: texts must be in all of these
  std::uint64_t min = 0, max = Dfa::kUnbounded;  // characters, items or members
  JsonId bounds_at = 0;                          // a keyword that set min or max, for messages
  // Arrays, objects: schemas (or values) with keywords for items or members.
  struct Leaf {
    JsonId node;
    bool is_value;
  };
  std::vector<Leaf> leaves;
  std::vector<std::pair<std::uint64_t, Literal>> items;  // also of the item at this index
  struct Contains {
    Literal what;
    std::uint64_t min, max;
  };
  std::vector<Contains> contains;
  JsonId unique = JsonTree::kNone;                       // uniqueItems, if it is true
  std::vector<std::pair<std::string, Literal>> members;  // name, literal for its value
  std::vector<std::string> required;
  std::vector<Literal> names;  // literals for every name
};

// Resolves "$ref".
class References {
 public:
  explicit References(const JsonTree& json);
  // Throws FormatError if there is no such schema, UnsupportedError for other documents.
  JsonId resolve(JsonId ref_keyword) const;
  bool old_draft() const { return old_draft_; }  // keywords beside $ref do not count

 private:
  void visit(JsonId id, std::string base);
  std::string visit_names(JsonId id, std::string base);
  JsonId step(JsonId at, std::string part) const;
  JsonId find_fragment(const std::string& uri, const std::string& fragment) const;
  std::string join(const std::string& base, const std::string& ref) const;

  const JsonTree& json_;
  std::map<std::string, JsonId> documents_;
  std::map<std::string, JsonId> anchors_;
  std::map<JsonId, std::string> base_of_;  // by object with $ref: the base of its references
  std::map<std::string, int> dynamic_anchors_;
  bool old_draft_ = false;
};

class SchemaExpander {
 public:
  SchemaExpander(const JsonTree& json, const JsonSchemaOptions& options)
      : json_(json), options_(options), references_(json) {}

  // May contain terms that cannot hold.
  std::vector<Term> expand(const Conjunction& what, Type type);
  // Returns false only if there is certainly no value.
  bool possible(const Term& term, Type type, int depth);
  bool possible(const Conjunction& what, int depth);
  // The intersection of term.allowed and the bounds of the length; null: no restriction. Throws
  // UnsupportedError if it needs too many states.
  DfaRef combined(const Term& term, Type type);

  // The literals of a leaf for the item at an index (kRest: after all named items), and for the
  // member with a name.
  static constexpr std::uint64_t kRest = ~std::uint64_t{0};
  void item_literals(const Term::Leaf& leaf, std::uint64_t index, Conjunction& out) const;
  std::uint64_t named_items(const Term::Leaf& leaf) const;
  void member_literals(const Term::Leaf& leaf, const std::string& name, Conjunction& out);
  // For members that are not named: patterns, and the literal that holds if none matches.
  struct Patterns {
    std::vector<std::pair<DfaRef, Literal>> patterns;
    std::optional<Literal> rest;
  };
  Patterns patterns(const Term::Leaf& leaf);
  // Whether an object with this number of named members allows no others, except those that match a
  // pattern.
  bool is_closed(const Term& term, std::size_t n_named) const;
  // Allows any value for members whose names match a pattern, and forbids all other unnamed ones.
  Patterns only_patterns(const Term& term);
  // Texts that are valid by the literals; null for all.
  DfaRef strings(const Conjunction& what);
  void simplify(Conjunction& what) const;

  // Makes an automaton shareable. Throws BudgetError if all automata of a schema are too large
  // together.
  DfaRef counted(Dfa dfa);

  const JsonTree& json() const { return json_; }
  [[noreturn]] void unsupported(JsonId keyword, const std::string& why) const;
  [[noreturn]] void wrong(JsonId keyword, const std::string& why) const;

 private:
  friend class Expansion;
  friend class ValueKeywords;
  DfaRef combination(const Term& term, Type type);
  DfaRef pattern(JsonId node, std::string_view text);
  DfaRef format(JsonId node);
  DfaRef kept(const std::string& key, const std::function<Dfa()>& make);

  const JsonTree& json_;
  const JsonSchemaOptions options_;
  References references_;
  std::map<std::string, DfaRef> known_;
  std::size_t steps_ = 0;
  std::size_t table_size_ = 0;  // total size of the counted automata
  int depth_ = 0;
  int looking_ = 0;  // depth of nested calls of possible()
};

CompiledGrammar compile_schema(std::string_view text, const JsonSchemaOptions& options);

}  // namespace weft::grammar
