#pragma once
// Which projections of a step are compared with their definitions if comparing all of them takes
// too long.

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <unordered_map>

#include "weft/scheduler/executor.h"

namespace weft::checks {

// Whether a node reads a weight of two dimensions or more.
bool reads_matrix(const Graph& graph, const Node& node);

// Nodes of one kind are computed by the same code: op, kernel, attributes, shapes, and which
// numbers per token they read.
std::string kind_of(const Graph& graph, const PlanStep& step);

// The smallest n for which the definitions of every n-th of the wanted nodes take at most
// `max_multiplications` in a step of n_tokens, if they take the same time for each node. Without
// multiplications, so large that only the first one is taken.
std::int64_t sample_every(const Graph& graph, std::int64_t n_tokens,
                          std::int64_t max_multiplications,
                          const std::function<bool(const Node&)>& wanted);

// Passes nodes on to `next`. Of those that read a matrix, every n-th of each kind, beginning with
// the first one (n = sample_every()).
class MatrixSample final : public NodeObserver {
 public:
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

  // For steps of at most n_tokens. REQUIRES: graph and next outlive it.
  MatrixSample(const Graph& graph, NodeObserver& next, std::int64_t n_tokens,
               std::int64_t max_multiplications);
  std::int64_t every() const { return every_; }  // n

  bool verifies() const override { return next_.verifies(); }
  void before(const PlanStep& step, int worker, const KernelArgs& args,
              const Region& region) noexcept override;
  void after(const PlanStep& step, int worker, const KernelArgs& args,
             const Region& region) noexcept override;

 private:
  const Graph& graph_;
  NodeObserver& next_;
  std::int64_t every_;
  std::unordered_map<std::string, std::int64_t> seen_;  // number of nodes by kind
  bool passes_ = true;                                  // the node that before() was called for
};

}  // namespace weft::checks
