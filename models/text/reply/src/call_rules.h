#pragma once
// Rules in GBNF for calls in each notation (syntax.h).

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weft/base/error.h"
#include "weft/reply/reply_grammar.h"

#include "syntax.h"

namespace weft::reply {

// Collects rules, and grammars that rules refer to.
class RuleWriter {
 public:
  explicit RuleWriter(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // These return elements of GBNF.
  // A text in which control tokens of the vocabulary are tokens.
  std::string marker(std::string_view text) const;
  std::string up_to(std::string_view marker);    // any text, then the marker
  std::string without(std::string_view marker);  // any text without it
  std::string grammar(const std::string& name, std::shared_ptr<const Grammar> grammar);
  std::string arguments(const CallableTool& tool);  // as JSON

  bool is_token(std::string_view text) const;  // whether the vocabulary has it as a token
  std::string rule(std::string_view body);     // returns the rule's name

  void add(std::string_view name, std::string_view body);
  std::shared_ptr<const Grammar> compile() const;

 private:
  bool has_control(std::string_view text) const;

  const Tokenizer& tokenizer_;
  std::string text_;
  int n_rules_ = 0;
  std::map<std::string, std::shared_ptr<const Grammar>, std::less<>> grammars_;
};

// Adds the rule "calls": one call of any of the tools, or several.
void add_calls_rule(RuleWriter& rules, const CallRow& row, std::span<const CallableTool> tools,
                    bool several);

// The parameters of a call in a tagged notation, from after the name to before its end.
std::string tagged_parameters(RuleWriter& rules, const CallRow& row, const CallableTool& tool);

// The arguments of a call in a braced notation, with their braces.
std::string braced_arguments(RuleWriter& rules, const CallRow& row, const CallableTool& tool);

// A text as a literal of GBNF.
std::string gbnf_literal(std::string_view text);

// Calls f; errors get the tool's name in front.
template <class F>
auto naming_tool(const CallableTool& tool, const F& f) {
  return reword_errors<FormatError, UnsupportedError, BudgetError>(
      [&](std::string_view message) { return tool.name + ": " + std::string(message); }, f);
}

}  // namespace weft::reply
