// The stream of a chat completion.

#include <utility>

#include <fmt/format.h>

#include "api/answer_parts.h"
#include "api/chat_answers.h"
#include "api/event_stream.h"
#include "api/json.h"

namespace weft::api {
namespace {

using Kind = ReplyEvent::Kind;

class ChatStream : public AnswerWriter {
 public:
  ChatStream(std::shared_ptr<Call> call, const ChatAnswerOptions& options)
      : options_(options),
        stream_(call),
        head_(choices_head(*call, "chatcmpl-", "chat.completion.chunk")),
        rows_(options.n_choices) {}

  void on_progress(std::int64_t done, std::int64_t total) override {
    if (!options_.return_progress) return;
    stream_.send(fmt::format(R"({}],"prompt_progress":{{"total":{},"processed":{}}}}})", head_,
                             total, done));
  }

  void on_prompt(int, const PromptDone& done) override {
    totals_.n_prompt = done.n_prompt;
    totals_.n_reused = done.n_reused;
    totals_.prompt_seconds = done.seconds;
    for (std::size_t i = 0; i < options_.n_choices; ++i)
      send(static_cast<int>(i), R"({"role":"assistant","content":""})");
  }

  void on_delta(int choice, const TextDelta& delta) override {
    auto& rows = rows_[static_cast<std::size_t>(choice)];
    rows.insert(rows.end(), delta.logprobs.begin(), delta.logprobs.end());
    totals_.n_new += std::ssize(delta.tokens);
    for (const ReplyEvent& event : delta.events) on_event(choice, event);
  }

  void on_end(int choice, const ChoiceEnd& end) override {
    send(choice, "{}", fmt::format("\"{}\"", chat_finish_reason(end, options_.old_functions)));
  }

  void on_done(const RunTotals& totals) override {
    if (options_.include_usage)
      stream_.send(fmt::format(R"({}],"usage":{},"timings":{}}})", head_, usage_json(totals),
                               timings_json(totals)));
    stream_.send("[DONE]");
    stream_.end();
  }

  void on_error(const ApiError& error) override { stream_.fail(error); }

 private:
  void on_event(int choice, const ReplyEvent& event) {
    switch (event.kind) {
      case Kind::content:
        return send(choice, fmt::format(R"({{"content":{}}})", literal(event.text)));
      case Kind::reasoning:
        return send(choice, fmt::format(R"({{"reasoning_content":{}}})", literal(event.text)));
      case Kind::call_begin:
        return begin_call(choice, event);
      case Kind::call_arguments:
        return add_arguments(choice, event);
      case Kind::call_end:
      case Kind::call_dropped:
        return;
    }
  }

  void begin_call(int choice, const ReplyEvent& event) {
    if (options_.old_functions)
      return send(choice, fmt::format(R"({{"function_call":{{"name":{},"arguments":""}}}})",
                                      literal(event.text)));
    send(choice, fmt::format(R"({{"tool_calls":[{{"index":{},"id":{},"type":"function",)"
                             R"("function":{{"name":{},"arguments":""}}}}]}})",
                             event.call, literal(call_id(event.id)), literal(event.text)));
  }

  void add_arguments(int choice, const ReplyEvent& event) {
    if (options_.old_functions)
      return send(choice,
                  fmt::format(R"({{"function_call":{{"arguments":{}}}}})", literal(event.text)));
    send(choice, fmt::format(R"({{"tool_calls":[{{"index":{},"function":{{"arguments":{}}}}}]}})",
                             event.call, literal(event.text)));
  }

  void send(int choice, std::string_view delta, std::string_view finish_reason = "null") {
    auto& rows = rows_[static_cast<std::size_t>(choice)];
    std::string chunk =
        fmt::format(R"({}{{"index":{},"delta":{},"logprobs":)", head_, choice, delta);
    if (options_.logprobs && !rows.empty())
      chunk += fmt::format(R"({{"content":[{}],"refusal":null}})", logprob_rows(rows));
    else
      chunk += "null";
    rows.clear();
    chunk += fmt::format(R"(,"finish_reason":{}}}])", finish_reason);
    if (options_.include_usage) chunk += R"(,"usage":null)";
    if (options_.timings_per_token) chunk += ",\"timings\":" + timings();
    chunk += '}';
    stream_.send(chunk);
  }

  std::string timings() {
    if (totals_.n_new > 0 && first_token_ == Clock::time_point()) first_token_ = Clock::now();
    if (totals_.n_new > 0) totals_.new_seconds = seconds_since(first_token_);
    return timings_json(totals_);
  }

  const ChatAnswerOptions options_;
  EventStream stream_;
  const std::string head_;                        // what all chunks begin with
  std::vector<std::vector<TokenLogprobs>> rows_;  // of each choice, not sent yet
  RunTotals totals_;                              // so far
  Clock::time_point first_token_ = {};
};

}  // namespace

std::shared_ptr<AnswerWriter> chat_stream(std::shared_ptr<Call> call,
                                          const ChatAnswerOptions& options) {
  return std::make_shared<ChatStream>(std::move(call), options);
}

}  // namespace weft::api
