#include <algorithm>
#include <span>

#include "weft/base/error.h"

#include "border_nodes.h"
#include "borders.h"

namespace weft::checks {
namespace {

// A sequence of ids, or of noise at positions that are too many tokens away.
class Sequence {
 public:
  Sequence(Session& session, std::vector<std::int32_t> ids)
      : session_(session), ids_(std::move(ids)) {
    session.truncate(0, 0);
  }

  // Makes the session hold everything before the step, and returns the ids of its tokens.
  std::span<const std::int32_t> move_to(const BorderStep& step) {
    const bool far = step.at + step.n > std::ssize(ids_);
    if (far || is_noise_) session_.truncate(0, 0);
    if (far && step.at > 0) session_.fill_with_noise(0, step.at);
    if (!far) feed_up_to(step.at);
    is_noise_ = far;
    return std::span(ids_).subspan(far ? 0 : static_cast<std::size_t>(step.at),
                                   static_cast<std::size_t>(step.n));
  }

 private:
  void feed_up_to(std::int64_t position) {
    if (session_.length(0) > position) session_.truncate(0, session_.resume_point(0, position));
    const std::int64_t held = session_.length(0);
    if (held == position) return;
    session_.feed(0, std::span(ids_).subspan(static_cast<std::size_t>(held),
                                             static_cast<std::size_t>(position - held)));
  }

  Session& session_;
  std::vector<std::int32_t> ids_;
  bool is_noise_ = false;
};

// Returns why the step ended early; empty if it did not.
std::string verify_step(Session& session, std::span<const std::int32_t> ids,
                        std::int64_t max_multiplications, VerifiedStep& step) {
  std::vector<StepToken> tokens;
  for (const std::int32_t id : ids) tokens.push_back({.token = id});
  tokens.back().logits = true;
  const std::size_t i = session.plan_for(std::ssize(tokens));
  Verifier verifier(session.graph(i), session.plan(i));
  BorderNodes observer(session.graph(i), verifier, std::ssize(ids), kMargin, max_multiplications);
  std::string stopped;
  try {
    session.step(tokens, nullptr, &observer);
  } catch (const CancelledError&) {
    throw;
  } catch (const Error& e) {
    if (!verifier.report().first_not_finite()) throw;
    stopped = e.what();
  }
  step.plan = session.plan(i).name;
  step.report = verifier.report();
  return stopped;
}

}  // namespace

void verify_across_borders(Session& session, const BorderInputs& inputs,
                           ModelVerification& result) {
  const Model& model = session.model();
  std::vector<BorderStep> steps =
      border_steps(inputs.borders, session.options().prefill_width, session.options().context);
  if (!model.facts().causal) std::erase_if(steps, [](const BorderStep& s) { return s.at > 0; });
  std::int64_t n_ids = inputs.n_tokens;
  for (const BorderStep& step : steps) n_ids = std::max(n_ids, step.n);
  Sequence sequence(session, random_ids(model, n_ids));
  const std::size_t n_steps = n_affordable(model, steps);
  for (std::size_t i = 0; i < n_steps && result.stopped.empty(); ++i) {
    VerifiedStep step{.n_tokens = steps[i].n, .position = steps[i].at};
    result.stopped = verify_step(session, sequence.move_to(steps[i]),
                                 i < kBestBorderSteps ? kMaxInSample : 0, step);
    result.steps.push_back(std::move(step));
  }
}

}  // namespace weft::checks
