#include <utility>

#include "api/text_run.h"

namespace weft::api {

using Kind = ReplyEvent::Kind;

WholeAnswer::WholeAnswer(std::shared_ptr<Call> call, std::size_t n_choices)
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
  for (const ReplyEvent& event : delta.events) {
    switch (event.kind) {
      case Kind::content:
        c.content += event.text;
        break;
      case Kind::reasoning:
        c.reasoning += event.text;
        break;
      case Kind::call_begin:
        c.calls.push_back({event.id, event.text, ""});
        break;
      case Kind::call_arguments:
        c.calls.back().arguments += event.text;
        break;
      case Kind::call_end:
        if (!event.id.empty()) c.calls.back().id = event.id;
        break;
      case Kind::call_dropped:
        break;
    }
  }
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
