#pragma once
// The per-node proof: runs a plan one node at a time and compares every node with its scalar
// definition, computed from the very same inputs.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/scheduler/executor.h"

namespace weft {

struct NodeCheck {
  NodeId node = kNoNode;
  std::string path, op, kernel, where;  // where: the builder's line
  double worst_error = 0;               // largest |got - want|
  double worst_ratio = 0;               // largest |got - want| / OpDef::bound; passes where <= 1
  double worst_ulps = 0;                // largest |got - want| in units of want's last place
  double worst_relative = 0;            // worst_error / largest |want| of the node
  std::int64_t worst_index = -1;        // element of the output with worst_ratio, row-major
  double got = 0, want = 0, bound = 0;  // there
  std::int64_t cols = 0;                // elements of a row of the output
  // The elements near it in its row, from column around_first on.
  std::int64_t around_first = 0;
  std::vector<float> around_got, around_want;
  std::int64_t non_finite = 0;   // NaN or Inf elements that the definition does not have too
  std::int64_t not_numbers = 0;  // NaN or Inf elements, whoever has them
  // Normalized distances from the same node elsewhere, sqrt(sum (got - x)^2 / sum x^2), or -1 where
  // there is nothing to compare with: in the plain graph computed by definitions alone, and in a
  // dump of another engine. They show what errors have added up to; they fail nothing.
  double from_plain = -1, from_dump = -1;
  bool passed() const { return worst_ratio <= 1 && non_finite == 0; }
};

struct VerifyReport {
  std::vector<NodeCheck> nodes;               // in plan order
  const NodeCheck* first_bad() const;         // null where all passed
  const NodeCheck* first_not_number() const;  // null where all elements are finite
  std::string to_text() const;
  std::string to_json() const;
};

// Collects a report over the runs it observes: executor.run(extents, nullptr, &verifier). REQUIRES:
// the executor's plan has one lane.
class Verifier : public NodeObserver {
 public:
  Verifier(const Graph& graph, const Plan& plan);
  ~Verifier() override;
  void before(const PlanStep& step, int worker, const KernelArgs& args,
              const Region& region) noexcept override;
  void after(const PlanStep& step, int worker, const KernelArgs& args,
             const Region& region) noexcept override;
  VerifyReport report() const;  // throws what went wrong while observing, if anything did

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
