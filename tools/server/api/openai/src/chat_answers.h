#pragma once
// Answers of chat completions.

#include <memory>

#include "weft/api/text_run.h"

namespace weft::api {

struct ChatAnswerOptions {
  std::size_t n_choices = 1;
  bool logprobs = false;
  bool include_usage = false;      // in a stream
  bool return_progress = false;    // in a stream
  bool timings_per_token = false;  // in a stream
  bool old_functions = false;      // function_call in place of tool_calls
};

std::shared_ptr<AnswerWriter> chat_answer(std::shared_ptr<ApiCall> call,
                                          const ChatAnswerOptions& options);
std::shared_ptr<AnswerWriter> chat_stream(std::shared_ptr<ApiCall> call,
                                          const ChatAnswerOptions& options);

}  // namespace weft::api
