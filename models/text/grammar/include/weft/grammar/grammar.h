#pragma once
// Which texts a model may generate: a grammar in GBNF, a JSON Schema or a regular expression, all
// compiled to the same form. token_constraint.h applies it to a text token by token.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "weft/base/ledger.h"
#include "weft/tokenize/vocabulary.h"

namespace weft {

namespace grammar {
struct CompiledGrammar;
}  // namespace grammar

struct JsonSchemaOptions {
  // An object schema with `properties` allows no other members, unless additionalProperties or
  // patternProperties allow them. The specification allows any, and a model may then generate
  // members without end. Members that `required` or minProperties demand stay possible.
  bool closed_objects = false;
  // No line ends between values, so that small models do not spend their tokens on indentation.
  bool single_line = false;

  // Both: how requests to a server are read.
  static JsonSchemaOptions concise() { return {.closed_objects = true, .single_line = true}; }
  bool operator==(const JsonSchemaOptions&) const = default;
};

// Immutable: any number of threads may use one grammar. Compiling one takes a limited number of
// steps (compile_limits.h); the functions that do throw BudgetError beyond it.
class Grammar {
 public:
  struct GbnfOptions {
    std::string root = "root";
    // Resolves references to a token by its text, <name>; returns kNoToken if there is none. Empty:
    // such references are refused.
    std::function<TokenId(std::string_view text)> find_token = {};
    // Other grammars as rules: a reference to one of these names matches the texts of that grammar.
    std::map<std::string, std::shared_ptr<const Grammar>, std::less<>> rules = {};
  };
  // Throws FormatError with line and column for syntax errors, undefined rules, left recursion and
  // grammars that allow no text; BudgetError for grammars that need too much memory.
  static std::shared_ptr<const Grammar> from_gbnf(std::string_view text,
                                                  const GbnfOptions& options);
  static std::shared_ptr<const Grammar> from_gbnf(std::string_view text);
  // JSON texts that a schema allows (docs/constraints.md defines their form). Throws FormatError if
  // the text is not a schema or allows nothing; UnsupportedError with a JSON pointer for a keyword
  // that cannot be honoured; BudgetError with a JSON pointer if the schema needs too much memory.
  // The grammars of the last schemas are kept for this process, up to 16 MiB.
  static std::shared_ptr<const Grammar> from_json_schema(std::string_view schema,
                                                         const JsonSchemaOptions& options = {});
  // Texts that match the pattern from their first to their last character, in the syntax of
  // ECMAScript. Throws FormatError with the column, UnsupportedError if the language is not
  // regular.
  static std::shared_ptr<const Grammar> from_regex(std::string_view pattern);

  // Texts in UTF-8 that end with `marker` and have it nowhere else. Throws ValueError if it is
  // empty or not UTF-8.
  static std::shared_ptr<const Grammar> up_to(std::string_view marker);
  // Texts in UTF-8, also the empty one, that do not have `marker`. Throws like up_to().
  static std::shared_ptr<const Grammar> without(std::string_view marker);

  // The texts of `grammar` with a prefix, which is not empty: for texts whose beginning was removed
  // and must be generated again (token healing).
  static std::shared_ptr<const Grammar> with_prefix(std::string_view prefix,
                                                    const Grammar& grammar);

  // Throws LedgerError if the ledger of the process has no room for it.
  explicit Grammar(std::shared_ptr<const grammar::CompiledGrammar> compiled);
  ~Grammar();

  bool accepts(std::string_view text) const;
  const std::shared_ptr<const grammar::CompiledGrammar>& compiled() const { return compiled_; }

 private:
  std::shared_ptr<const grammar::CompiledGrammar> compiled_;
  Taken taken_{Account::grammars};
};

}  // namespace weft
