#include "weft/scheduler/plan.h"

#include <algorithm>

#include "weft/base/hash.h"

namespace weft {
namespace {

bool same(const Cost& a, const Cost& b) {
  return a.bytes_read == b.bytes_read && a.bytes_written == b.bytes_written &&
         a.multiply_adds == b.multiply_adds;
}

bool same(const std::vector<Variable>& a, const std::vector<Variable>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const Variable& x, const Variable& y) { return x.name == y.name && x.bound == y.bound; });
}

}  // namespace

std::string_view to_string(Split split) {
  switch (split) {
    case Split::one:
      return "one";
    case Split::copies:
      return "copies";
    case Split::cols:
      return "cols";
    case Split::rows:
      break;
  }
  return "rows";
}

std::string_view to_string(ReplayKind kind) {
  switch (kind) {
    case ReplayKind::alone:
      return "alone";
    case ReplayKind::crew:
      return "crew";
    case ReplayKind::flow:
      break;
  }
  return "flow";
}

std::string_view to_string(Place place) {
  switch (place) {
    case Place::arena:
      return "arena";
    case Place::weight:
      return "weight";
    case Place::state:
      return "state";
    case Place::view:
      break;
  }
  return "view";
}

bool operator==(const PlanStep& a, const PlanStep& b) {
  return a.node == b.node && a.path == b.path && a.op == b.op && a.backend == b.backend &&
         a.kernel == b.kernel && a.instead_of == b.instead_of && a.split == b.split &&
         a.cols == b.cols && a.parts == b.parts && a.lane == b.lane && a.stage == b.stage &&
         same(a.cost, b.cost);
}

bool operator==(const Plan& a, const Plan& b) {
  return a.name == b.name && a.lanes == b.lanes && same(a.variables, b.variables) &&
         a.steps == b.steps && a.predicted_ns == b.predicted_ns && a.replay == b.replay &&
         a.placements == b.placements && a.stages == b.stages && a.arena_bytes == b.arena_bytes &&
         a.arena_lower_bound == b.arena_lower_bound && a.arena_heuristic == b.arena_heuristic &&
         a.scratch_bytes == b.scratch_bytes && a.weight_bytes == b.weight_bytes &&
         a.devices == b.devices && a.state_bytes == b.state_bytes;
}

PerNode<const PlanStep*> Plan::steps_by_node() const {
  auto by_node = PerNode<const PlanStep*>::like(placements);
  for (const PlanStep& step : steps) by_node[step.node] = &step;
  return by_node;
}

std::int64_t Plan::calls() const {
  std::int64_t n = 0;
  for (const PlanStep& step : steps) {
    if (step.split == Split::cols) {
      for (const auto& cols : step.parts.empty() ? step.cols : step.parts) n += std::ssize(cols);
    } else {
      const int parts = step.split == Split::rows ? shares_in(step.stage) : 1;
      n += step.split == Split::one ? 1 : lanes * parts;
    }
  }
  return n;
}

Cost Plan::cost() const {
  Cost total;
  for (const PlanStep& step : steps) {
    total.bytes_read += step.cost.bytes_read;
    total.bytes_written += step.cost.bytes_written;
    total.multiply_adds += step.cost.multiply_adds;
  }
  return total;
}

std::uint64_t Plan::hash() const {
  Fnv1a64 hash;
  hash.add(to_json());
  return hash.value();
}

}  // namespace weft
