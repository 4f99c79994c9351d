// The stream of a completion.

#include <utility>

#include <fmt/format.h>

#include "weft/api/answer_parts.h"
#include "weft/api/event_stream.h"
#include "weft/base/json_string.h"
#include "weft/run/model.h"

#include "completion_answers.h"

namespace weft::api {
namespace {

class CompletionStream : public AnswerWriter {
 public:
  CompletionStream(const std::shared_ptr<ApiCall>& call, CompletionAnswerOptions options,
                   std::size_t n_prompts)
      : options_(std::move(options)),
        stream_(call),
        head_(choices_head(*call, "cmpl-", "text_completion")) {
    const Tokenizer& tokenizer = call->model->model->tokenizer();
    for (std::size_t i = 0; i < n_prompts * options_.n; ++i)
      columns_.emplace_back(tokenizer, options_.logprobs);
  }

  void on_prompt(int prompt, const PromptDone& done) override {
    if (!options_.echo) return;
    const EchoedPrompt& echoed = options_.prompts[static_cast<std::size_t>(prompt)];
    for (std::size_t k = 0; k < options_.n; ++k) {
      const auto choice = static_cast<std::size_t>(prompt) * options_.n + k;
      if (options_.logprobs >= 0) add_prompt(columns_[choice], echoed, done.logprobs);
      send(static_cast<int>(choice), echoed.text);
    }
  }

  void on_delta(int choice, const TextDelta& delta) override {
    LogprobColumns& columns = columns_[static_cast<std::size_t>(choice)];
    if (options_.logprobs >= 0)
      for (const TokenLogprobs& row : delta.logprobs) columns.add(row);
    if (!delta.text.empty()) send(choice, delta.text);
  }

  void on_end(int choice, const ChoiceEnd& end) override {
    send(choice, "", fmt::format("\"{}\"", finish_reason(end)));
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
  void send(int choice, std::string_view text, std::string_view finish_reason = "null") {
    LogprobColumns& columns = columns_[static_cast<std::size_t>(choice)];
    stream_.send(fmt::format(R"({}{{"index":{},"text":{},"logprobs":{},"finish_reason":{}}}]{}}})",
                             head_, choice, json_string(text),
                             columns.empty() ? "null" : columns.take(), finish_reason,
                             options_.include_usage ? R"(,"usage":null)" : ""));
  }

  const CompletionAnswerOptions options_;
  EventStream stream_;
  const std::string head_;               // the common beginning of all chunks
  std::vector<LogprobColumns> columns_;  // by choice, not sent yet
};

}  // namespace

std::shared_ptr<AnswerWriter> completion_stream(std::shared_ptr<ApiCall> call,
                                                CompletionAnswerOptions options,
                                                std::size_t n_prompts) {
  return std::make_shared<CompletionStream>(call, std::move(options), n_prompts);
}

}  // namespace weft::api
