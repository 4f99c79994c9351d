#include "weft/api/answer_parts.h"

#include <cmath>

#include <fmt/format.h>

#include "weft/base/json_string.h"

namespace weft::api {

std::string choices_head(const ApiCall& call, std::string_view id_prefix, std::string_view object) {
  // The fingerprint changes when results may.
  const std::string fingerprint = "weft-" + call.services.options.version;
  return fmt::format(R"({{"id":{},"object":"{}","created":{},"model":{},)"
                     R"("system_fingerprint":{},"choices":[)",
                     json_string(new_id(id_prefix)), object, unix_seconds(),
                     json_string(call.model->name), json_string(fingerprint));
}

std::string count_member(std::string_view name, std::int64_t n) {
  return n > 0 ? fmt::format(R"(,"{}":{})", name, n) : "";
}

std::string usage_json(const RunTotals& totals) {
  return fmt::format(R"({{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{},)"
                     R"("prompt_tokens_details":{{"cached_tokens":{}{}}},)"
                     R"("completion_tokens_details":{{"reasoning_tokens":{}{}}}}})",
                     totals.n_prompt, totals.n_new, totals.n_prompt + totals.n_new, totals.n_reused,
                     count_member("moved_tokens", totals.n_moved), totals.n_reasoning,
                     count_member("dropped_tokens", totals.n_dropped));
}

std::string timings_json(const RunTotals& totals) {
  const auto per = [](double value, auto n) {
    return n > 0 && value > 0 ? value / static_cast<double>(n) : 0.0;
  };
  const auto rate = [](auto n, double seconds) {
    return seconds > 0 ? static_cast<double>(n) / seconds : 0.0;
  };
  const std::int64_t n_computed = totals.n_prompt - totals.n_reused;
  const std::string why =
      totals.why.empty() ? "" : fmt::format(R"(,"why_not_reused":{})", json_string(totals.why));
  const std::string drafts =
      totals.n_drafted > 0
          ? fmt::format(R"(,"draft_n":{},"draft_n_accepted":{})", totals.n_drafted, totals.n_right)
          : "";
  const std::string dropped = count_member("dropped_n", totals.n_dropped);
  return fmt::format(
      R"({{"cache_n":{}{},"prompt_n":{},"prompt_ms":{:.3f},"prompt_per_token_ms":{:.3f},)"
      R"("prompt_per_second":{:.3f},"predicted_n":{},"predicted_ms":{:.3f},)"
      R"("predicted_per_token_ms":{:.3f},"predicted_per_second":{:.3f}{}{}{}}})",
      totals.n_reused, count_member("cache_moved_n", totals.n_moved), n_computed,
      totals.prompt_seconds * 1e3, per(totals.prompt_seconds * 1e3, n_computed),
      rate(n_computed, totals.prompt_seconds), totals.n_new, totals.new_seconds * 1e3,
      per(totals.new_seconds * 1e3, totals.n_new), rate(totals.n_new, totals.new_seconds), drafts,
      dropped, why);
}

std::string_view finish_reason(const ChoiceEnd& end) {
  switch (end.reason) {
    case ChoiceEnd::Reason::calls:
      return "tool_calls";
    case ChoiceEnd::Reason::length:
    case ChoiceEnd::Reason::cancelled:
      return "length";
    default:
      return "stop";
  }
}

std::string_view chat_finish_reason(const ChoiceEnd& end, bool old_functions) {
  const std::string_view reason = finish_reason(end);
  return old_functions && reason == "tool_calls" ? "function_call" : reason;
}

std::string logprob_rows(std::span<const TokenLogprobs> rows) {
  std::string text;
  for (const TokenLogprobs& row : rows) append_rows(text, to_json(row));
  return text;
}

void append_rows(std::string& rows, std::string_view more) {
  if (!rows.empty() && !more.empty()) rows += ',';
  rows += more;
}

}  // namespace weft::api
