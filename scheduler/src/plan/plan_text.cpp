#include <fmt/format.h>

#include "weft/base/human_numbers.h"
#include "weft/scheduler/budget.h"
#include "weft/scheduler/plan.h"

namespace weft {
namespace {

std::string human_count(std::int64_t n) {
  constexpr const char* kNames[] = {"", " K", " M", " G", " T", " P"};
  double value = static_cast<double>(n);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kNames)) value /= 1000, ++unit;
  return unit == 0 ? fmt::format("{}", n) : fmt::format("{:.1f}{}", value, kNames[unit]);
}

// A lane's part of a step: "all", "copy", "rows 1/2", "0-511 2048-2175", "-".
std::string work_of(const PlanStep& step, int lane, int lanes) {
  switch (step.split) {
    case Split::one:
      return step.lane == lane ? "all" : "-";
    case Split::copies:
      return "copy";
    case Split::rows:
      return fmt::format("rows {}/{}", lane + 1, lanes);
    case Split::cols:
      break;
  }
  std::string text;
  for (const ColRange& r : step.cols[static_cast<std::size_t>(lane)]) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", r.begin, r.end - 1);
  }
  return text.empty() ? "-" : text;
}

std::string place_of(const Placement& p) {
  std::string text = fmt::format("{:#x} {}", p.offset, human_bytes(p.bytes));
  if (p.place == Place::state) return "state";
  if (p.copies > 1) text += fmt::format(" x{}", p.copies);
  if (p.in_place_over != kNoNode) text += " in place";
  return text;
}

// Lists the nodes that are computed by their definitions because a backend lacks a kernel; empty if
// there are none.
std::string lacking_text(const Plan& plan) {
  constexpr int kNamed = 8;
  std::string names, backend;
  int n = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.instead_of.empty()) continue;
    backend = step.instead_of;
    if (n++ < kNamed) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", step.path);
  }
  if (n == 0) return "";
  return fmt::format("{} has no kernel for {} of the nodes, computed by their definitions: {}{}\n",
                     backend, n, names, n > kNamed ? ", ..." : "");
}

// A line for each stage and for each of its steps.
std::string steps_text(const Plan& plan) {
  std::string text;
  std::int32_t stage = -1;
  for (const PlanStep& step : plan.steps) {
    if (step.stage != stage) {
      stage = step.stage;
      const int n = plan.shares_in(stage);
      text += fmt::format("stage {}{}\n", stage,
                          n > 1 ? fmt::format(", {} shares per lane", n) : std::string());
    }
    text += fmt::format("  {:<28} {:<7}", step.path, to_string(step.split));
    for (int lane = 0; lane < plan.lanes; ++lane)
      text += fmt::format("| {:<22}", work_of(step, lane, plan.lanes));
    text += fmt::format("| {:<26} {:>10}  {}\n", place_of(plan.placements[step.node]),
                        human_bytes(step.cost.bytes_read + step.cost.bytes_written), step.kernel);
  }
  return text;
}

}  // namespace

std::string Plan::to_text() const {
  const Cost all = cost();
  std::string vars;
  for (const Variable& v : variables) vars += fmt::format(" {}<={}", v.name, v.bound);
  std::string text =
      fmt::format("plan {}:{} {} lanes, {} steps, {} stages, {} joins, {} calls, hash {:016x}\n",
                  name.empty() ? "(unnamed)" : name, vars.empty() ? "" : vars + ",", lanes,
                  steps.size(), stages, joins(), calls(), hash());
  const double over = arena_lower_bound > 0
                          ? 100.0 * static_cast<double>(arena_bytes - arena_lower_bound) /
                                static_cast<double>(arena_lower_bound)
                          : 0;
  text += fmt::format(
      "weights {}, state {}, arena {} ({:.1f} % over the bound {}, {}), scratch {}\n",
      human_bytes(weight_bytes), human_bytes(state_bytes), human_bytes(arena_bytes), over,
      human_bytes(arena_lower_bound), arena_heuristic, human_bytes(scratch_bytes));
  for (const PlanDevice& d : devices) {
    text += fmt::format(
        "on {}: weights {}, state {}, arena {}, scratch {}; copied in {}, out {} at the bounds\n",
        d.backend, human_bytes(d.weight_bytes), human_bytes(d.state_bytes),
        human_bytes(d.arena_bytes), human_bytes(d.scratch_bytes), human_bytes(d.bytes_in),
        human_bytes(d.bytes_out));
  }
  text += fmt::format("at the bounds: {} read, {} written, {} multiply-adds, roughly {}\n",
                      human_bytes(all.bytes_read), human_bytes(all.bytes_written),
                      human_count(all.multiply_adds), human_ns(static_cast<double>(predicted_ns)));
  text += fmt::format("executor {}: {}\n", to_string(replay), replay_reason);
  return text + lacking_text(*this) + steps_text(*this);
}

}  // namespace weft
