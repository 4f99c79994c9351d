#pragma once
// Replays a plan. Kernels, pointers and the pieces of every stage are bound when the executor
// is constructed. A run only sets extents, and does not allocate. One run at a time per executor
// and per Workers; executors may share an arena and Workers if they do not run at the same time.

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/scheduler/plan.h"
#include "weft/scheduler/routing.h"
#include "weft/scheduler/weight_stream.h"
#include "weft/scheduler/workers.h"

namespace weft {

class Poll;
class RankLink;

// Memory of one of a plan's devices, in its addresses (weft/backends/device.h).
struct DeviceBindings {
  std::function<std::byte*(const Node& weight_or_state)> at;  // like `weight` and `state` below
  std::span<std::byte> arena, scratch;
};

// Memory that a plan uses and an executor does not own. All of it outlives the executor.
struct Bindings {
  // Called once per weight node while binding; never returns null.
  std::function<const std::byte*(const Node& weight)> weight;
  std::function<std::byte*(const Node& state)> state;  // the same for states
  std::span<std::byte> arena;                // at least Plan::arena_bytes, aligned to kAlignment
  std::span<std::byte> scratch;              // at least Plan::scratch_bytes, aligned likewise
  std::vector<DeviceBindings> devices = {};  // one per device of Plan::devices
  // For weights that are not in memory all the time; `weight` gives their addresses too. Null: all
  // are. REQUIRES: all units of a stage fit in its memory at the same time.
  WeightStream* stream = nullptr;
  // For plans with collective ops. Runs of the same plan on other ranks take part in it.
  RankLink* link = nullptr;
};

// Is called before and after every node. Without an observer, a node costs one pointer test.
class NodeObserver {
 public:
  virtual ~NodeObserver() = default;
  // Whether it reads the contents of tensors. If so, tensors on devices are copied to the host
  // before and after every call, and a device's work is finished when after() is called.
  virtual bool reads_values() const { return true; }
  // Whether it compares nodes with their definitions (Verifier): every rank must do so in the same
  // run, because the definitions of collective ops need the values of all of them.
  virtual bool verifies() const { return false; }
  // Called on a worker before a sequence of one or more calls.
  virtual void begin(int /*worker*/) noexcept {}
  // Called on the worker that runs the node, before and after its kernel computes `region`.
  // `worker` is 0 to the plan's lanes - 1 and runs one node at a time. An idle worker takes over
  // shares that others have not begun, so the region may belong to another lane.
  virtual void before(const PlanStep& step, int worker, const KernelArgs& args,
                      const Region& region) noexcept = 0;
  virtual void after(const PlanStep& step, int worker, const KernelArgs& args,
                     const Region& region) noexcept = 0;
};

// What a run carries. Everything that it points to outlives the run.
struct RunOptions {
  const std::atomic<bool>* cancel = nullptr;  // the run ends between nodes once it is true
  NodeObserver* observer = nullptr;
  Poll* poll = nullptr;  // is asked between nodes whether the run goes on (weft/scheduler/poll.h)
  // Of plans with collective ops: somebody wants the results of this run (PeerAttrs::result). The
  // same on all ranks. Otherwise they are undefined.
  bool results = true;
  // Likewise: throws Error if what this rank has computed cannot be used, which ends the run on all
  // ranks. Is called before each exchange, by any worker and while others compute. May be empty.
  std::function<void()> check = {};
  // Only the first stages of the plan are run, for what they write to states: outputs are then
  // undefined. -1: all. REQUIRES otherwise: there are no other ranks.
  std::int32_t stages = -1;
};

struct ExecutorOptions {
  // Finds kernels that use memory they should not. Fills unused memory with NaN, between stages and
  // in scratch memory before each call; run() then throws Error, naming the node, if a result is
  // NaN or if unused memory was written. Slow and on one thread, with the same results. Default:
  // the environment variable WEFT_POISON.
  std::optional<bool> poison;
};

class Executor {
 public:
  // Keeps references to `graph` and `plan`, which must outlive the executor. The plan was made with
  // `assignment`. Throws Error if bindings are missing or too small.
  Executor(const Graph& graph, const Plan& plan, const Assignment& assignment,
           const Bindings& bindings, Workers& workers, const ExecutorOptions& options = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Memory of a graph input, at its bound: write the step's data there before run().
  std::span<std::byte> input(std::string_view path);

  // One step. `extents` are the variables' actual extents. Throws ValueError unless 1 <= extent <=
  // bound; CancelledError if `cancel` became true or `poll` ended the run, on any rank; what `poll`
  // threw; Error, naming backend and node, if a plug-in or another rank failed; RankError if a rank
  // is lost. After the latter four, some rows of states were already written; a later run may
  // overwrite them.
  void run(const Extents& extents, const RunOptions& options = {});

  // An output of the graph with the extents of the last run; valid until the next one.
  View output(std::string_view name) const;
  bool has_output(std::string_view name) const;  // the graph has an output of this name
  // The output of any node with the extents of the last run (the first copy, if there are several).
  // Valid after the run only if the plan was made with separate_tensors.
  View value(NodeId node) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
