#pragma once
// Parts of answers that several interfaces share.

#include <span>
#include <string>
#include <string_view>

#include "weft/api/text_run.h"

namespace weft::api {

// The beginning of OpenAI's answers and chunks, up to their choices: {"id":"PREFIX..","object":..,
// "created":..,"model":..,"system_fingerprint":..,"choices":[
std::string choices_head(const ApiCall& call, std::string_view id_prefix, std::string_view object);
// `,"NAME":N`, or "" for 0: counts that few answers have.
std::string count_member(std::string_view name, std::int64_t n);
// {"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details",
// "completion_tokens_details"}.
std::string usage_json(const RunTotals& totals);
// llama-server's: {"cache_n", "prompt_n", "prompt_ms", .., "predicted_n", ..}.
std::string timings_json(const RunTotals& totals);
// OpenAI's: "stop", "length", "tool_calls".
std::string_view finish_reason(const ChoiceEnd& end);
// The same, with the deprecated "function_call" if requested.
std::string_view chat_finish_reason(const ChoiceEnd& end, bool old_functions);
// Rows of chat completions: a JSON array without its brackets.
std::string logprob_rows(std::span<const TokenLogprobs> rows);
// Appends such rows to others.
void append_rows(std::string& rows, std::string_view more);

}  // namespace weft::api
