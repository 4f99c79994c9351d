#pragma once
// The nodes of a step across a boundary that are compared with their definitions.

#include <string>
#include <unordered_map>
#include <vector>

#include "weft/scheduler/executor.h"

namespace weft::checks {

// Passes nodes on to `next`. Of nodes whose output rows depend only on the same row of the inputs
// (projections, norms), only the last `max_rows` rows, so that the definition of a wide step costs
// no more than that of a narrow one. If they read a matrix of weights, one node for each kernel and
// shape, and only in steps of several rows: their definitions take most of the time, other layers
// run the same code, and single rows are like those of any decode step. Nodes that use other rows,
// such as attention, are passed completely. In steps of several rows, every n-th for each kernel,
// shape, window and chunk, with the smallest n for which their definitions take at most
// `max_multiplications`.
class BorderNodes final : public NodeObserver {
 public:
  // For one step of n_tokens. REQUIRES: graph and next outlive it.
  BorderNodes(const Graph& graph, NodeObserver& next, std::int64_t n_tokens, std::int64_t max_rows,
              std::int64_t max_multiplications);
  bool verifies() const override { return next_.verifies(); }
  void before(const PlanStep& step, int worker, const KernelArgs& args,
              const Region& region) noexcept override;
  void after(const PlanStep& step, int worker, const KernelArgs& args,
             const Region& region) noexcept override;

 private:
  bool wanted(const PlanStep& step, const KernelArgs& args);
  bool by_row(const Node& node) const;
  const KernelArgs& narrowed(const PlanStep& step, const KernelArgs& args);

  const Graph& graph_;
  NodeObserver& next_;
  std::int64_t max_rows_;
  std::int64_t every_;                                  // n
  std::unordered_map<std::string, std::int64_t> seen_;  // number of nodes by kind
  bool passes_ = true;                                  // the node that before() was called for
  std::vector<View> in_;
  KernelArgs args_;
};

}  // namespace weft::checks
