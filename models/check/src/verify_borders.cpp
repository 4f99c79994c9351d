#include <algorithm>
#include <span>

#include "weft/base/error.h"

#include "borders.h"

namespace weft::checks {
namespace {

// Makes the sequence hold the ids up to this position.
void move_to(Session& session, const std::vector<std::int32_t>& ids, std::int64_t position) {
  if (session.length(0) > position) session.truncate(0, session.resume_point(0, position));
  const std::int64_t held = session.length(0);
  if (held == position) return;
  session.feed(0, std::span(ids).subspan(static_cast<std::size_t>(held),
                                         static_cast<std::size_t>(position - held)));
}

// Returns why the step ended early; empty if it did not.
std::string verify_step(Session& session, std::span<const std::int32_t> ids, VerifiedStep& step) {
  std::vector<StepToken> tokens;
  for (const std::int32_t id : ids) tokens.push_back({.token = id});
  tokens.back().logits = true;
  const std::size_t i = session.plan_for(std::ssize(tokens));
  Verifier verifier(session.graph(i), session.plan(i));
  LastRows observer(session.graph(i), verifier, kMargin);
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

void verify_across_borders(Session& session, ModelVerification& result) {
  const Model& model = session.model();
  const std::int64_t n_tokens = tokens_across_borders(model, session.options());
  const std::vector<std::int32_t> ids = random_ids(model, n_tokens);
  auto steps =
      border_steps(borders_of(session, n_tokens), n_tokens, session.options().prefill_width);
  if (!model.facts().causal) std::erase_if(steps, [](const BorderStep& s) { return s.at > 0; });
  std::int64_t left = affordable_definitions(model);
  session.truncate(0, 0);
  for (std::size_t i = 0; i < steps.size() && result.stopped.empty(); ++i) {
    left -= 1 + std::min(steps[i].n, kMargin);  // decoding the weights, then row by row
    if (left < 0 && i >= kBestBorderSteps) break;
    move_to(session, ids, steps[i].at);
    VerifiedStep step{.n_tokens = steps[i].n, .position = steps[i].at};
    result.stopped = verify_step(session,
                                 std::span(ids).subspan(static_cast<std::size_t>(steps[i].at),
                                                        static_cast<std::size_t>(steps[i].n)),
                                 step);
    result.steps.push_back(std::move(step));
  }
}

}  // namespace weft::checks
