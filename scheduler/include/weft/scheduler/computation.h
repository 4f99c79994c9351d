#pragma once
// A single graph, planned and ready to run, with the memory that it needs: for programs that build
// graphs of their own. Models run in sessions (weft/run/session.h).
//
//   Graph g;
//   const Tensor x = g.input("x", {f32, {4, 64}}), w = g.weight("up.weight", {f32, {256, 64}});
//   g.output("y", silu(linear(x, w)));
//   Computation computation(g);
//   computation.set_weight("up.weight", bytes);
//   std::ranges::copy(values, computation.input("x").begin());
//   computation.run(computation.graph().bounds());
//   use(computation.output("y"));

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/scheduler/executor.h"
#include "weft/scheduler/plan.h"
#include "weft/scheduler/verify.h"

namespace weft {

struct ComputationOptions {
  int workers = 0;              // 0: default_workers()
  std::string backend = "cpu";  // as for Routes; it computes in host memory
  std::string route;
  std::vector<std::string> passes_off;
  bool separate_tensors = false;  // every tensor has its own memory, so that value() works
  std::function<bool()> poll;  // as for Poll (scheduler/poll.h), while run() computes; may be empty
  std::int64_t mem_budget = 0;  // bytes of all tensors and kernels; 0: default_budget()
};

// One thread at a time.
class Computation {
 public:
  // Checks, optimizes and plans the graph, which may be changed or destroyed afterwards. Throws
  // like check(), optimize() and make_plan(); UnsupportedError for backends with memory of their
  // own; BudgetError, before anything is allocated.
  explicit Computation(const Graph& graph, const ComputationOptions& options = {});
  ~Computation();
  Computation(Computation&&) noexcept;

  // Copies the value of a weight, in the type of the graph with rows back to back. Throws
  // ValueError if no weight has this name, and for another number of bytes.
  void set_weight(std::string_view name, std::span<const std::byte> bytes);
  // The memory of an input, at its bounds, to be written before each run; of a state, which is zero
  // at first. Throw ValueError for unknown names.
  std::span<std::byte> input(std::string_view name);
  std::span<std::byte> state(std::string_view name);

  // Throws ValueError for weights without a value, and like Executor::run().
  void run(const Extents& extents, const std::atomic<bool>* cancel = nullptr);
  // Runs on one lane, and compares every node with its scalar definition. Changes inputs, states
  // and outputs as run() does, but not what output() and value() give.
  VerifyReport verify(const Extents& extents, const std::atomic<bool>* cancel = nullptr);

  // By the names of outputs, and by the paths of nodes: with the extents of the last run, valid
  // until the next one. Throw ValueError for unknown names, before the first run, and value() if
  // the arena is reused, or passes removed the node.
  View output(std::string_view name) const;
  View value(std::string_view path) const;

  const Graph& graph() const;  // after all passes
  const Plan& plan() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
