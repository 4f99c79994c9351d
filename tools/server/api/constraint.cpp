// Constraints as grammars.

#include <fmt/format.h>

#include "weft/grammar/grammar.h"
#include "weft/run/model.h"
#include "weft/tokenize/vocabulary.h"

#include "api/chat_prompt.h"
#include "api/errors.h"

namespace weft::api {
namespace {

// One of the texts.
std::shared_ptr<const Grammar> choice_grammar(const std::vector<std::string>& choices) {
  std::string gbnf = "root ::= ";
  for (std::size_t i = 0; i < choices.size(); ++i) {
    gbnf += i == 0 ? "\"" : " | \"";
    for (const char c : choices[i]) {
      if (c == '"' || c == '\\') gbnf += '\\';
      if (c == '\n')
        gbnf += "\\n";
      else if (c == '\r')
        gbnf += "\\r";
      else
        gbnf += c;
    }
    gbnf += '"';
  }
  return Grammar::from_gbnf(gbnf);
}

}  // namespace

std::shared_ptr<const Grammar> compile_constraint(const ServedModel& model,
                                                  const Constraint& constraint) {
  using Kind = Constraint::Kind;
  return naming(constraint.param, [&]() -> std::shared_ptr<const Grammar> {
    switch (constraint.kind) {
      case Kind::none:
        return nullptr;
      case Kind::json_object:
        return Grammar::from_json_schema(R"({"type": "object"})", JsonSchemaOptions::concise());
      case Kind::json_schema:
        return Grammar::from_json_schema(constraint.text, JsonSchemaOptions::concise());
      case Kind::regex:
        return Grammar::from_regex(constraint.text);
      case Kind::choice:
        return choice_grammar(constraint.choices);
      case Kind::gbnf:
        return Grammar::from_gbnf(constraint.text, {.find_token = [&model](std::string_view text) {
                                    return model.model->vocabulary().find(text);
                                  }});
    }
    return nullptr;
  });
}

}  // namespace weft::api
