#pragma once
// A constraint on a generated text, as data: from a flag, a field of a request, or a program.

#include <memory>
#include <string>
#include <vector>

#include "weft/grammar/grammar.h"
#include "weft/tokenize/vocabulary.h"

namespace weft {

struct Constraint {
  enum class Kind {
    none,
    json_object,  // any JSON object
    json_schema,  // JSON that the schema in `text` allows
    regex,        // text that the pattern in `text` matches from start to end
    choice,       // one of `choices`
    gbnf,         // a text of the grammar in `text`
  };
  Kind kind = Kind::none;
  std::string text = {};
  std::vector<std::string> choices = {};
  std::string place = {};  // names the constraint in errors: "response_format"
  JsonSchemaOptions schema = JsonSchemaOptions::concise();
};

// Null for Kind::none. The vocabulary has the tokens that a grammar names. Throws like the makers
// of Grammar; with Constraint::place as PlaceError.
std::shared_ptr<const Grammar> compile_constraint(const Constraint& constraint,
                                                  const Vocabulary& vocabulary);

}  // namespace weft
