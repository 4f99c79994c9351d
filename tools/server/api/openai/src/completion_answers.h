#pragma once
// Answers of completions.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/api/text_run.h"

namespace weft::api {

struct EchoedPrompt {
  std::string text;
  std::vector<TokenId> tokens;
};

struct CompletionAnswerOptions {
  std::size_t n = 1;                  // answered choices of each prompt: the likeliest
  std::size_t best_of = 1;            // generated choices of each prompt
  int logprobs = -1;                  // the request's
  bool echo = false;                  // answers begin with the prompt
  std::vector<EchoedPrompt> prompts;  // if echo
  bool include_usage = false;         // in a stream
};

std::shared_ptr<AnswerWriter> completion_answer(std::shared_ptr<ApiCall> call,
                                                CompletionAnswerOptions options,
                                                std::size_t n_prompts);
std::shared_ptr<AnswerWriter> completion_stream(std::shared_ptr<ApiCall> call,
                                                CompletionAnswerOptions options,
                                                std::size_t n_prompts);

// {"tokens", "token_logprobs", "top_logprobs", "text_offset"} of completions, row by row.
class LogprobColumns {
 public:
  LogprobColumns(const Tokenizer& tokenizer, int n_top) : tokenizer_(tokenizer), n_top_(n_top) {}
  void add(const TokenLogprobs& row);
  void add_unknown(TokenId token);  // the first token of a prompt has no probability
  // The rows since the last call, as an object. Offsets continue.
  std::string take();
  bool empty() const { return tokens_.empty(); }

 private:
  void add_token(std::string_view bytes);

  const Tokenizer& tokenizer_;
  const int n_top_;
  std::string tokens_, token_logprobs_, top_logprobs_, offsets_;  // items of arrays
  std::int64_t offset_ = 0;                                       // characters
};

// The columns of an echoed prompt. `rows`: of its tokens 1 ..
void add_prompt(LogprobColumns& columns, const EchoedPrompt& prompt,
                std::span<const TokenLogprobs> rows);

}  // namespace weft::api
