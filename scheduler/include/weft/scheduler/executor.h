#pragma once
// Replays a plan. Everything is bound when the executor is made: kernels, pointers, the units of
// work of every stage. A run patches extents, and allocates nothing. One run at a time per executor
// and per Workers; different executors may share arena and Workers, not at the same time.

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
#include "weft/scheduler/workers.h"

namespace weft {

// Memory of one of a plan's devices, in its addresses (weft/backends/device.h).
struct DeviceBindings {
  std::function<std::byte*(const Node& weight_or_state)> at;  // like those of Bindings
  std::span<std::byte> arena, scratch;
};

// Memory that a plan uses and an executor does not own. All of it outlives the executor.
struct Bindings {
  // Called once per weight node while binding; never returns null.
  std::function<const std::byte*(const Node& weight)> weight;
  std::function<std::byte*(const Node& state)> state;  // likewise per state
  std::span<std::byte> arena;                // at least Plan::arena_bytes, aligned to kAlignment
  std::span<std::byte> scratch;              // at least Plan::scratch_bytes, likewise
  std::vector<DeviceBindings> devices = {};  // as Plan::devices
};

// Told about every node when it is set; costs one pointer test per node when it is not.
class NodeObserver {
 public:
  virtual ~NodeObserver() = default;
  // Whether it looks at what tensors hold: those that lie on devices are then brought to the host
  // for it, before and after every call. After calls of nodes on devices their work is done.
  virtual bool reads_values() const { return true; }
  // Called on a worker before one or more calls that follow each other.
  virtual void begin(int /*worker*/) noexcept {}
  // Called on the worker that runs the node, before and after its kernel computes `region`.
  // `worker` is 0 to the plan's lanes - 1 and runs one node at a time. A worker that is done takes
  // over what others have not begun, so what it is called for may be another lane's share.
  virtual void before(const PlanStep& step, int worker, const KernelArgs& args,
                      const Region& region) noexcept = 0;
  virtual void after(const PlanStep& step, int worker, const KernelArgs& args,
                     const Region& region) noexcept = 0;
};

struct ExecutorOptions {
  // Fills memory where nothing lives with NaN, between stages and in scratch memory before each
  // call, and lets run() throw Error, naming the node, where a result is NaN or something was
  // written there. Slow, on one thread, and of the same bits. None: as WEFT_POISON says.
  std::optional<bool> poison;
};

class Executor {
 public:
  // `graph` and `plan` are kept by reference and outlive the executor; the plan was made with
  // `assignment`. Throws Error if bindings are missing or too small.
  Executor(const Graph& graph, const Plan& plan, const Assignment& assignment,
           const Bindings& bindings, Workers& workers, const ExecutorOptions& options = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Memory of a graph input, at its bound: write the step's data there before run().
  std::span<std::byte> input(std::string_view path);

  // One step. `extents` are the variables' actual extents, 1 <= extent <= bound (throws
  // ValueError). Throws CancelledError if `cancel` became true, and Error, naming backend and node,
  // if a plug-in failed; the contents of states are then those rows that were written so far, which
  // a later run may overwrite.
  void run(const Extents& extents, const std::atomic<bool>* cancel = nullptr,
           NodeObserver* observer = nullptr);

  // An output of the graph with the extents of the last run; valid until the next one.
  View output(std::string_view name) const;
  // Memory of any node with the extents of the last run (its first copy). Meaningful after the run
  // only if the plan was made with reuse_arena = false.
  View value(NodeId node) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
