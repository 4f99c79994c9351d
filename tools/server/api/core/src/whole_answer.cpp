#include <utility>

#include "weft/api/text_run.h"

namespace weft::api {

WholeAnswer::WholeAnswer(std::shared_ptr<ApiCall> call, std::size_t n_choices)
    : call_(std::move(call)), choices_(n_choices) {}

void WholeAnswer::on_prompt(int prompt, const PromptDone& done) {
  const auto i = static_cast<std::size_t>(prompt);
  if (prompts_.size() <= i) prompts_.resize(i + 1);
  prompts_[i] = done;
}

void WholeAnswer::on_delta(int choice, const TextDelta& delta) {
  Choice& c = choices_[static_cast<std::size_t>(choice)];
  c.text += delta.text;
  c.tokens.insert(c.tokens.end(), delta.tokens.begin(), delta.tokens.end());
  c.logprobs.insert(c.logprobs.end(), delta.logprobs.begin(), delta.logprobs.end());
  c.reply.take(delta.events);
}

void WholeAnswer::on_end(int choice, const ChoiceEnd& end) {
  choices_[static_cast<std::size_t>(choice)].end = end;
}

void WholeAnswer::on_done(const RunTotals& totals) {
  finish(totals);
}

void WholeAnswer::on_error(const ApiError& error) {
  call_->fail(error);
}

}  // namespace weft::api
