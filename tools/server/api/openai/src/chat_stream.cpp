// The stream of a chat completion.

#include <utility>

#include <fmt/format.h>

#include "weft/api/answer_parts.h"
#include "weft/api/event_stream.h"
#include "weft/base/json_string.h"

#include "chat_answers.h"

namespace weft::api {
namespace {

class ChatStream : public AnswerWriter, private ReplySink {
 public:
  ChatStream(std::shared_ptr<ApiCall> call, const ChatAnswerOptions& options)
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
    totals_.n_moved = done.n_moved;
    totals_.prompt_seconds = done.seconds;
    for (std::size_t i = 0; i < options_.n_choices; ++i)
      send(static_cast<int>(i), R"({"role":"assistant","content":""})");
  }

  void on_delta(int choice, const TextDelta& delta) override {
    auto& rows = rows_[static_cast<std::size_t>(choice)];
    rows.insert(rows.end(), delta.logprobs.begin(), delta.logprobs.end());
    totals_.n_new += std::ssize(delta.tokens);
    choice_ = choice;
    take(delta.events);
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
  void on_content(const std::string& text) override {
    send(choice_, fmt::format(R"({{"content":{}}})", json_string(text)));
  }
  void on_reasoning(const std::string& text) override {
    send(choice_, fmt::format(R"({{"reasoning_content":{}}})", json_string(text)));
  }

  void on_call(int index, const std::string& id, const std::string& name) override {
    if (options_.old_functions)
      return send(choice_, fmt::format(R"({{"function_call":{{"name":{},"arguments":""}}}})",
                                       json_string(name)));
    send(choice_, fmt::format(R"({{"tool_calls":[{{"index":{},"id":{},"type":"function",)"
                              R"("function":{{"name":{},"arguments":""}}}}]}})",
                              index, json_string(id), json_string(name)));
  }

  void on_arguments(int index, const std::string& text) override {
    if (options_.old_functions)
      return send(choice_,
                  fmt::format(R"({{"function_call":{{"arguments":{}}}}})", json_string(text)));
    send(choice_, fmt::format(R"({{"tool_calls":[{{"index":{},"function":{{"arguments":{}}}}}]}})",
                              index, json_string(text)));
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
  int choice_ = 0;  // the choice of the current events
  EventStream stream_;
  const std::string head_;                        // the common beginning of all chunks
  std::vector<std::vector<TokenLogprobs>> rows_;  // by choice, not sent yet
  RunTotals totals_;                              // so far
  Clock::time_point first_token_ = {};
};

}  // namespace

std::shared_ptr<AnswerWriter> chat_stream(std::shared_ptr<ApiCall> call,
                                          const ChatAnswerOptions& options) {
  return std::make_shared<ChatStream>(std::move(call), options);
}

}  // namespace weft::api
