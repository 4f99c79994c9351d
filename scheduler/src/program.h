#pragma once
// A plan with everything looked up: per stage and lane the list of kernel calls, ready to run.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/scheduler/executor.h"
#include "weft/scheduler/plan.h"

#include "crew.h"
#include "lanes.h"
#include "memory_map.h"

namespace weft {

struct Call {
  KernelFn run = nullptr;
  KernelArgs args;
  const PlanStep* step = nullptr;
  std::span<const ColRange> cols;  // Split::cols
  int lane = 0;
};

class Program {
 public:
  // Throws ValueError where the plan does not fit the graph or the backend.
  Program(const Graph& graph, const Plan& plan, const Backend& backend, const MemoryMap& memory,
          std::span<std::byte> scratch);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Writes the variables' actual extents into every view.
  void set_extents(const Extents& extents);
  std::span<const CrewStage> stages() const { return stages_; }
  std::span<const Call> calls(int stage, int lane) const;

 private:
  void add(const Graph& graph, const Kernel& kernel, const PlanStep& step, int lane,
           const MemoryMap& memory);
  void watch(const Dim* dims, View& view);

  std::vector<Call> calls_;                                  // by stage, then lane, then plan order
  std::vector<std::pair<std::size_t, std::size_t>> ranges_;  // by stage * lanes + lane
  std::vector<std::vector<View>> inputs_;                    // by call
  std::vector<std::pair<std::int64_t*, std::int32_t>>
      extents_;  // what to overwrite with which variable
  std::vector<CrewStage> stages_;
  int lanes_ = 1;
};

// The parts of the output that a call computes, at the extents its views have now.
template <class F>
void for_each_region(const Call& call, int n_lanes, F f) {
  const std::int64_t rows = call.args.out.rows(), cols = call.args.out.cols();
  switch (call.step->split) {
    case Split::one:
    case Split::copies:
      f(Region{0, rows, 0, cols});
      return;
    case Split::rows: {
      const Region region{lanes::row_cut(rows, call.lane, n_lanes),
                          lanes::row_cut(rows, call.lane + 1, n_lanes), 0, cols};
      if (!region.empty()) f(region);
      return;
    }
    case Split::cols:
      break;
  }
  for (const ColRange& range : call.cols) {
    const Region region{0, rows, range.begin, range.end < cols ? range.end : cols};
    if (!region.empty()) f(region);
  }
}

}  // namespace weft
