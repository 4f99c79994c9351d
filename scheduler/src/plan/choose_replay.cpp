// Chooses who runs a plan. A flow graph is the simpler of the two: its nodes are the pieces of the
// plan, and oneTBB does the rest. The crew's joins are cheaper, which matters if stages are short.

#include <fmt/format.h>

#include "weft/base/human_numbers.h"

#include "plan/sketch.h"

namespace weft::scheduler {
namespace {

// The flow graph is chosen if its joins take at most this part of the predicted time.
constexpr double kMaxFlowOverhead = 0.01;

}  // namespace

void choose_replay(std::optional<ReplayKind> wanted, Plan& plan) {
  if (plan.lanes == 1) {
    plan.replay = ReplayKind::alone;
    plan.replay_reason = "one lane";
    return;
  }
  if (wanted && *wanted != ReplayKind::alone) {
    plan.replay = *wanted;
    plan.replay_reason = "requested";
    return;
  }
  const double extra = kFlowExtraNs * (plan.joins() + 1);
  const double share = extra / std::max(1.0, static_cast<double>(plan.predicted_ns));
  plan.replay = share <= kMaxFlowOverhead ? ReplayKind::flow : ReplayKind::crew;
  plan.replay_reason = fmt::format("joins of a flow graph would take {} longer, {} % of the run",
                                   human_ns(extra), three_digits(100 * share));
}

}  // namespace weft::scheduler
