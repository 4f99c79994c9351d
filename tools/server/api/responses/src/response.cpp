#include "response.h"

#include "weft/api/answer_parts.h"
#include "weft/api/json_text.h"
#include "weft/api/text_run.h"

#include "request.h"

namespace weft::api::responses {

std::string response_json(const Response& response, const Progress& progress) {
  const Request& request = *response.request;
  JsonObject json;
  json.add("id", response.id)
      .add("object", "response")
      .add("created_at", response.created)
      .add("status", progress.status)
      .add("background", false)
      .add_null("error")
      .add_json("incomplete_details",
                progress.incomplete_reason.empty()
                    ? "null"
                    : JsonObject().add("reason", progress.incomplete_reason).str())
      .add_or_null("instructions", request.instructions);
  if (request.max_tokens)
    json.add("max_output_tokens", *request.max_tokens);
  else
    json.add_null("max_output_tokens");
  json.add_null("max_tool_calls")
      .add("model", response.model)
      .add_json("output", progress.output)
      .add("parallel_tool_calls", request.parallel_tool_calls)
      .add_or_null("previous_response_id", request.previous_response_id)
      .add_or_null("prompt_cache_key", request.prompt_cache_key)
      .add_json("reasoning", request.reasoning_json)
      .add_or_null("safety_identifier", request.safety_identifier)
      .add("service_tier", "default")
      .add("store", request.store)
      .add("temperature", request.sampler.temperature)
      .add_json("text", request.text_json)
      .add_json("tool_choice", request.tool_choice_json)
      .add_json("tools", request.tools_json)
      .add("top_logprobs", request.top_logprobs.value_or(0))
      .add("top_p", request.sampler.top_p)
      .add("truncation", request.truncation)
      .add_json("usage", progress.usage)
      .add_or_null("user", request.user)
      .add_json("metadata", request.metadata_json);
  return json.str();
}

std::string response_usage(const RunTotals& totals) {
  return JsonObject()
      .add("input_tokens", totals.n_prompt)
      .add_json("input_tokens_details", fmt::format(R"({{"cached_tokens":{}{}}})", totals.n_reused,
                                                    count_member("moved_tokens", totals.n_moved)))
      .add("output_tokens", totals.n_new)
      .add_json("output_tokens_details",
                fmt::format(R"({{"reasoning_tokens":{}{}}})", totals.n_reasoning,
                            count_member("dropped_tokens", totals.n_dropped)))
      .add("total_tokens", totals.n_prompt + totals.n_new)
      .str();
}

}  // namespace weft::api::responses
