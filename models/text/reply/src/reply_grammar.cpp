#include "weft/reply/reply_grammar.h"

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/text.h"

#include "call_rules.h"
#include "syntax.h"

namespace weft {
namespace {

using reply::CallRow;
using reply::CallStyle;
using reply::ReasoningRow;
using reply::RuleWriter;

bool is_open(const ReasoningRow& reasoning, std::string_view prompt) {
  return trim_right(prompt).ends_with(trim_right(reasoning.begin));
}

// The rule for the text before the answer; empty if there is none.
std::string reasoning_rule(RuleWriter& rules, const ReasoningRow* row, std::string_view prompt) {
  if (!row) return "";
  const std::string rest = rules.up_to(trim_right(row->end)) + " [ \\n]{0,2} ";
  if (is_open(*row, prompt)) return rest;
  if (!rules.is_token(trim_right(row->begin))) return "";
  return fmt::format("({} {})? ", rules.marker(trim_right(row->begin)), rest);
}

// Harmony: every message names its channel.
std::string channels_rule(RuleWriter& rules, const ReplyGrammarOptions& options) {
  const std::string thought =
      fmt::format("({} {} {})? ", rules.marker("<|channel|>analysis<|message|>"),
                  rules.up_to("<|end|>"), rules.marker("<|start|>assistant"));
  std::string calls;
  for (const CallableTool& tool : options.tools)
    calls += fmt::format(
        "{}{} {}", calls.empty() ? "" : " | ",
        rules.marker(fmt::format("<|channel|>commentary to=functions.{} <|constrain|>json"
                                 "<|message|>",
                                 tool.name)),
        rules.arguments(tool));
  const std::string content =
      fmt::format("{} {}", rules.marker("<|channel|>final<|message|>"),
                  options.content ? rules.grammar("content", options.content) : ".*");
  if (calls.empty()) return thought + content;
  if (options.must_call) return fmt::format("{}({})", thought, calls);
  return fmt::format("{}({} | {})", thought, calls, content);
}

// Functionary: the name of the tool, or "all", is the first line of each part.
std::string sections_rule(RuleWriter& rules, const CallRow& row,
                          const ReplyGrammarOptions& options) {
  const std::string content =
      fmt::format(R"("all\n" {})", options.content ? rules.grammar("content", options.content)
                                                   : rules.without(row.open));
  if (options.tools.empty()) return content;
  std::string call;
  for (const CallableTool& tool : options.tools)
    call += fmt::format("{}{} {}", call.empty() ? "" : " | ", rules.marker(tool.name + "\n"),
                        rules.arguments(tool));
  rules.add("call", call);
  const std::string next = fmt::format(R"("\n"? {} call)", rules.marker(row.open));
  const std::string calls = options.several_calls ? fmt::format("call ({})*", next) : "call";
  if (options.must_call) return calls;
  if (options.content) return fmt::format("{} | {}", calls, content);
  return fmt::format("{} | {} ({})?", calls, content,
                     options.several_calls ? "(" + next + ")+" : next);
}

std::string marked_rule(RuleWriter& rules, const CallRow& row, const ReplyGrammarOptions& options) {
  if (options.tools.empty())
    return options.content ? rules.grammar("content", options.content) : ".*";
  reply::add_calls_rule(rules, row, options.tools, options.several_calls);
  if (options.must_call) return "calls";
  if (options.content)
    return fmt::format("(calls | {})", rules.grammar("content", options.content));
  // An answer that begins like a call is one.
  if (row.style == CallStyle::bare) return "(calls | ([^{\\[ \\t\\r\\n<] .*)?)";
  const std::string_view open = row.section_open.empty() ? row.open : row.section_open;
  return fmt::format("{} calls?", rules.without(open));
}

}  // namespace

std::shared_ptr<const Grammar> reply_grammar(const ReplySyntax& syntax, const Tokenizer& tokenizer,
                                             const ReplyGrammarOptions& options) {
  const CallRow* row = reply::find_row(reply::call_rows(), syntax.calls, "tool calls");
  const ReasoningRow* reasoning =
      reply::find_row(reply::reasoning_rows(), syntax.reasoning, "thoughts");
  if (!row && !options.tools.empty()) fail<ValueError>("there is no notation of calls");
  static constexpr CallRow kNoCalls{};
  RuleWriter rules(tokenizer);
  std::string root;
  if (row && row->style == CallStyle::channels)
    root = channels_rule(rules, options);
  else if (row && row->style == CallStyle::sections)
    root = sections_rule(rules, *row, options);
  else
    root = reasoning_rule(rules, reasoning, options.prompt) +
           marked_rule(rules, row ? *row : kNoCalls, options);
  rules.add("root", root);
  return rules.compile();
}

}  // namespace weft
