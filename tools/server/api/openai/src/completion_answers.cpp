#include "completion_answers.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "weft/api/answer_parts.h"
#include "weft/base/json_string.h"
#include "weft/run/model.h"

namespace weft::api {
namespace {

double mean_logprob(const Choice& choice) {
  double sum = 0;
  for (const TokenLogprobs& row : choice.logprobs) sum += row.chosen.logprob;
  return choice.logprobs.empty() ? 0 : sum / static_cast<double>(choice.logprobs.size());
}

class CompletionAnswer : public WholeAnswer {
 public:
  CompletionAnswer(std::shared_ptr<ApiCall> call, CompletionAnswerOptions options,
                   std::size_t n_choices)
      : WholeAnswer(std::move(call), n_choices), options_(std::move(options)) {}

 protected:
  void finish(const RunTotals& totals) override {
    std::string all;
    std::size_t index = 0;
    for (std::size_t i = 0; i < choices().size() / options_.best_of; ++i)
      for (const std::size_t k : kept(i))
        all += (index == 0 ? "" : ",") + choice_json(i, k, index), ++index;
    call().reply(fmt::format(R"({}{}],"usage":{},"timings":{}}})",
                             choices_head(call(), "cmpl-", "text_completion"), all,
                             usage_json(totals), timings_json(totals)));
  }

 private:
  // The best n of the choices of a prompt.
  std::vector<std::size_t> kept(std::size_t prompt) {
    std::vector<std::size_t> all(options_.best_of);
    std::iota(all.begin(), all.end(), prompt * options_.best_of);
    if (options_.best_of > options_.n) {
      std::ranges::stable_sort(all, [&](std::size_t a, std::size_t b) {
        return mean_logprob(choices()[a]) > mean_logprob(choices()[b]);
      });
      all.resize(options_.n);
    }
    return all;
  }

  std::string choice_json(std::size_t prompt, std::size_t which, std::size_t index) {
    const Choice& choice = choices()[which];
    const EchoedPrompt none;
    const EchoedPrompt& echoed = options_.echo ? options_.prompts[prompt] : none;
    std::string logprobs = "null";
    if (options_.logprobs >= 0) {
      LogprobColumns columns(call().model->model->tokenizer(), options_.logprobs);
      if (options_.echo) add_prompt(columns, echoed, prompts()[prompt].logprobs);
      for (const TokenLogprobs& row : choice.logprobs) columns.add(row);
      logprobs = columns.take();
    }
    return fmt::format(R"({{"index":{},"text":{},"logprobs":{},"finish_reason":"{}"}})", index,
                       json_string(echoed.text + choice.text), logprobs, finish_reason(choice.end));
  }

  const CompletionAnswerOptions options_;
};

}  // namespace

std::shared_ptr<AnswerWriter> completion_answer(std::shared_ptr<ApiCall> call,
                                                CompletionAnswerOptions options,
                                                std::size_t n_prompts) {
  const std::size_t n_choices = n_prompts * options.best_of;
  return std::make_shared<CompletionAnswer>(std::move(call), std::move(options), n_choices);
}

}  // namespace weft::api
