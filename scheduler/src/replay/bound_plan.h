#pragma once
// A plan prepared for execution: for every piece a list of kernel calls with all arguments. In a
// stage with several shares per lane, the calls of a share are prepared for each worker, because
// they read the worker's copies.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/backends/device.h"
#include "weft/scheduler/executor.h"
#include "weft/scheduler/plan.h"

#include "exchange/exchanges.h"
#include "plan/lanes.h"
#include "replay/memory_map.h"
#include "replay/replay.h"

namespace weft::scheduler {

class AllReduce;

struct KernelCall {
  KernelFn run = nullptr;
  KernelColsFn run_cols = nullptr;  // not null if one call computes all of `cols`
  KernelArgs args;
  const PlanStep* step = nullptr;
  std::span<const ColRange> cols;  // Split::cols
  int part = 0, parts = 1;         // Split::rows
  Device* device = nullptr;        // not null if the call only queues work on this device
  std::span<const int> units;      // that it uses of the weight stream, each once
  AllReduce* feeds = nullptr;      // takes the results in ranges of columns as they are computed
};

class BoundPlan {
 public:
  // Throws ValueError if the plan does not fit the graph or the assignment. Kernels report errors
  // to `failure`, which outlives the bound plan.
  BoundPlan(const Graph& graph, const Plan& plan, const std::vector<PieceGroup>& pieces,
            const Assignment& assignment, const MemoryMap& memory, const Bindings& bindings,
            KernelFailure& failure);
  BoundPlan(const BoundPlan&) = delete;
  BoundPlan& operator=(const BoundPlan&) = delete;

  // Writes the variables' actual extents into every view.
  void set_extents(const Extents& extents);
  std::span<const ReplayStage> stages() const { return stages_; }
  std::span<const KernelCall> share(int stage, int index, int worker) const;
  std::span<const KernelCall> copies(int stage, int lane) const;
  // Those of its collective ops; null if it was bound to no other ranks.
  Exchanges* exchanges() { return exchanges_ ? &*exchanges_ : nullptr; }
  // How many calls of a run use each unit of the weight stream.
  std::vector<std::int32_t> uses_of_units(const std::vector<PieceGroup>& pieces,
                                          const WeightStream& stream) const;

 private:
  using Range = std::pair<std::size_t, std::size_t>;  // indices of calls: [first, second)
  struct StageCalls {
    int workers = 1;  // workers with prepared calls for every share; 1 if a share is a lane
    std::vector<Range> shares;  // by share, then worker
    std::vector<Range> copies;  // by lane; none if copies are part of the only share
  };
  struct Source;  // the inputs from which calls are built

  void add_piece(const Source& from, const Piece& piece);
  Range add_calls(const Source& from, const Piece& piece, int lane, int part, int parts);
  void add(const Source& from, std::size_t step, int lane, int part, int parts);
  void bind_inputs(const Source& from);
  void prepare(const Source& from, KernelFailure& failure);
  void prepare_exchange(const Source& from, KernelCall& call, KernelFailure& failure);
  void feed_exchanges(const Graph& graph);
  void watch(const Dim* dims, View& view);

  std::vector<KernelCall> calls_;
  std::vector<StageCalls> calls_of_stages_;  // by stage
  std::vector<std::vector<View>> inputs_;    // by call
  std::vector<std::vector<int>> units_of_steps_;
  std::vector<std::unique_ptr<PreparedKernel>> prepared_;
  std::optional<Exchanges> exchanges_;
  std::vector<std::pair<std::int64_t*, std::int32_t>>
      extents_;  // where to write which variable's extent
  std::vector<ReplayStage> stages_;
};

// The rows of the output of which a call computes parts, at the extents its views have now.
inline std::pair<std::int64_t, std::int64_t> rows_of(const KernelCall& call) {
  const std::int64_t rows = call.args.out.rows();
  if (call.step->split != Split::rows) return {0, rows};
  return {lanes::row_cut(rows, call.part, call.parts),
          lanes::row_cut(rows, call.part + 1, call.parts)};
}

// The parts of the output that a call computes, at the extents its views have now.
template <class F>
void for_each_region(const KernelCall& call, F f) {
  const std::int64_t rows = call.args.out.rows(), cols = call.args.out.cols();
  switch (call.step->split) {
    case Split::one:
    case Split::copies:
      f(Region{0, rows, 0, cols});
      return;
    case Split::rows: {
      const auto [row0, row1] = rows_of(call);
      const Region region{row0, row1, 0, cols};
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

}  // namespace weft::scheduler
