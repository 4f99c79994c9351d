// Who runs a plan. A flow graph is the plainer of the two: its nodes are the pieces of the plan,
// and oneTBB does the rest. The crew's joins are cheaper, which counts when stages are short.

#include <fmt/format.h>

#include "draft.h"

namespace weft::scheduler {
namespace {

// Of the predicted time of a run: what joins of a flow graph may cost.
constexpr double kWorthFlow = 0.01;

}  // namespace

void choose_replay(std::optional<ReplayKind> wanted, Plan& plan) {
  if (plan.lanes == 1) {
    plan.replay = ReplayKind::alone;
    plan.replay_reason = "one lane";
    return;
  }
  if (wanted && *wanted != ReplayKind::alone) {
    plan.replay = *wanted;
    plan.replay_reason = "asked for";
    return;
  }
  const double extra = kFlowExtraNs * (plan.joins() + 1);
  const double share = extra / std::max(1.0, static_cast<double>(plan.predicted_ns));
  plan.replay = share <= kWorthFlow ? ReplayKind::flow : ReplayKind::crew;
  plan.replay_reason =
      fmt::format("joins of a flow graph would take {:.3g} us longer, {:.2g} % of the run",
                  extra * 1e-3, 100 * share);
}

}  // namespace weft::scheduler
