#include "weft/scheduler/pieces.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft {
namespace {

// Whether share `part` of `parts` has work in this step.
bool takes_part(const PlanStep& step, int part, int parts) {
  if (step.split == Split::one) return step.lane == part;
  if (step.split != Split::cols) return true;
  const auto& cols = std::ssize(step.cols) == parts ? step.cols : step.parts;
  return !cols[static_cast<std::size_t>(part)].empty();
}

struct Stage {
  const Plan& plan;
  std::int32_t number;
  std::size_t first, last;  // indices into Plan::steps

  template <class Wanted>
  void add(PieceGroup& group, Piece piece, int part, int parts, Wanted wanted) const {
    for (std::size_t i = first; i < last; ++i) {
      if (wanted(plan.steps[i]) && takes_part(plan.steps[i], part, parts)) piece.steps.push_back(i);
    }
    if (!piece.steps.empty()) group.push_back(std::move(piece));
  }

  void add_to(std::vector<PieceGroup>& groups) const {
    const int shares = plan.shares_in(number);
    const auto copied = [](const PlanStep& step) { return step.split == Split::copies; };
    PieceGroup copies, parts;
    for (int lane = 0; lane < plan.lanes; ++lane) {
      if (shares > 1)
        add(copies, {.stage = number, .lane = lane, .share = 0, .copies = true, .steps = {}}, lane,
            plan.lanes, copied);
      for (int share = 0; share < shares; ++share) {
        add(parts, {.stage = number, .lane = lane, .share = share, .copies = false, .steps = {}},
            lane * shares + share, plan.lanes * shares,
            [&](const PlanStep& step) { return shares == 1 || !copied(step); });
      }
    }
    for (PieceGroup* group : {&copies, &parts}) {
      if (!group->empty()) groups.push_back(std::move(*group));
    }
  }
};

}  // namespace

std::string Piece::name() const {
  std::string text = fmt::format("stage {} lane {}", stage, lane);
  if (copies) return text + " copies";
  return share > 0 ? text + fmt::format(" share {}", share) : text;
}

std::vector<PieceGroup> pieces_of(const Plan& plan) {
  std::vector<PieceGroup> groups;
  for (std::size_t first = 0, last = 0; first < plan.steps.size(); first = last) {
    const std::int32_t stage = plan.steps[first].stage;
    while (last < plan.steps.size() && plan.steps[last].stage == stage) ++last;
    Stage{plan, stage, first, last}.add_to(groups);
  }
  return groups;
}

}  // namespace weft
