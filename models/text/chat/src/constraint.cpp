#include "weft/chat/constraint.h"

#include "weft/chat/place_error.h"

namespace weft {
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

std::shared_ptr<const Grammar> compile(const Constraint& constraint, const Vocabulary& vocabulary) {
  using Kind = Constraint::Kind;
  switch (constraint.kind) {
    case Kind::none:
      return nullptr;
    case Kind::json_object:
      return Grammar::from_json_schema(R"({"type": "object"})", constraint.schema);
    case Kind::json_schema:
      return Grammar::from_json_schema(constraint.text, constraint.schema);
    case Kind::regex:
      return Grammar::from_regex(constraint.text);
    case Kind::choice:
      return choice_grammar(constraint.choices);
    case Kind::gbnf:
      return Grammar::from_gbnf(constraint.text, {.find_token = [&](std::string_view text) {
                                  return vocabulary.find(text);
                                }});
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const Grammar> compile_constraint(const Constraint& constraint,
                                                  const Vocabulary& vocabulary) {
  return in_place(constraint.place, [&] { return compile(constraint, vocabulary); });
}

}  // namespace weft
