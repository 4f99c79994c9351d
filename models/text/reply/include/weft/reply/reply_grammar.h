#pragma once
// Grammars for whole replies in the notation of a model: reasoning, then calls of tools or content.
// ReplyParser reads all texts of these grammars.

#include <memory>
#include <string>
#include <vector>

#include "weft/grammar/grammar.h"
#include "weft/reply/reply_parser.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {

struct CallableTool {
  std::string name;        // letters, digits and _ - . : /
  std::string parameters;  // JSON Schema of the object of arguments; empty: none
};

struct ReplyGrammarOptions {
  std::string prompt = {};               // the rendered conversation or its end, as for ReplyParser
  std::vector<CallableTool> tools = {};  // empty: no calls
  bool several_calls = false;
  bool must_call = false;  // at least one call, and no content
  // The content, if there is no call. Null: any text, also before calls, except that a call cannot
  // begin in it without being one.
  std::shared_ptr<const Grammar> content = nullptr;
};

// A section of reasoning comes first if the prompt has opened it, and may come if the vocabulary
// has a token for its marker. Markers that are control tokens of the vocabulary are those tokens.
// Throws ValueError for unknown names of notations, and FormatError, UnsupportedError or
// BudgetError "NAME: ..." for parameters of a tool that cannot be enforced.
std::shared_ptr<const Grammar> reply_grammar(const ReplySyntax& syntax, const Tokenizer& tokenizer,
                                             const ReplyGrammarOptions& options);

}  // namespace weft
