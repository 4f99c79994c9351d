#pragma once
// Verifies a plan node by node: compares every node's output, and the state that it updates, with
// its scalar definition, computed from the same inputs.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/scheduler/executor.h"

namespace weft {

// An output of a node. The state that a node updates (OpDef::updates) has a check of its own, with
// the path of the state.
struct NodeCheck {
  NodeId node = kNoNode;
  std::string path, op, kernel, where;  // where: the builder's line
  double worst_error = 0;               // max |got - want|
  double worst_ratio = 0;               // max |got - want| / OpDef::bound; passes if <= 1
  double worst_ulps = 0;                // max |got - want| in units of want's last place
  double worst_relative = 0;            // worst_error / max |want| of the node
  std::int64_t worst_index = -1;        // element of the output with worst_ratio, row-major
  double got = 0, want = 0, bound = 0;  // the values of that element
  std::int64_t cols = 0;                // elements of a row of the output
  // Its neighbours in the row, starting at column around_first.
  std::int64_t around_first = 0;
  std::vector<float> around_got, around_want;
  std::int64_t non_finite = 0;   // NaN or Inf elements for which the definition is finite
  std::int64_t not_numbers = 0;  // NaN or Inf elements, expected or not
  // Normalized distances sqrt(sum (got - x)^2 / sum x^2) from the same node in the plain graph
  // computed by definitions, and in a dump of another program; -1 if there is nothing to compare
  // with. They show accumulated errors and do not affect passed().
  double from_plain = -1, from_dump = -1;
  bool passed() const { return worst_ratio <= 1 && non_finite == 0; }
};

struct VerifyReport {
  std::vector<NodeCheck> nodes;               // in plan order
  const NodeCheck* first_bad() const;         // null if all passed
  const NodeCheck* first_not_finite() const;  // null if all elements are finite
  std::string to_text() const;
  std::string to_json() const;
};

// Collects a report over the runs that it observes: executor.run(extents, {.observer = &verifier}).
// REQUIRES: the executor's plan has one lane.
class Verifier : public NodeObserver {
 public:
  Verifier(const Graph& graph, const Plan& plan);
  ~Verifier() override;
  bool verifies() const override { return true; }
  void before(const PlanStep& step, int worker, const KernelArgs& args,
              const Region& region) noexcept override;
  void after(const PlanStep& step, int worker, const KernelArgs& args,
             const Region& region) noexcept override;
  VerifyReport report() const;  // rethrows an exception that occurred while observing

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
