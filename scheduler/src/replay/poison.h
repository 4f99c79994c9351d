#pragma once
// Finds kernels that use memory they should not. Fills bytes of the arena that no tensor owns with
// 0xff (NaN in every float type) between stages, and scratch memory before every call. Outputs of a
// stage must then not contain NaN, and unowned bytes must not have changed.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/graph/graph.h"
#include "weft/scheduler/plan.h"

namespace weft::scheduler {

// Whether WEFT_POISON is set, and not to 0.
bool poison_wanted();

class Poison {
 public:
  // Keeps references to all of them.
  Poison(const Graph& graph, const Plan& plan, std::span<std::byte> arena);

  // Before a run: everything but the inputs.
  void begin();
  // After a stage: memory that is unused from then on.
  void end_stage(std::int32_t stage);

  static void before_call(const KernelArgs& args);
  // Checks the output of a call for NaN. The first finding is kept.
  void after_call(const PlanStep& step, const KernelArgs& args, const Region& region);

  const std::string& finding() const { return finding_; }  // empty: none so far in this run

 private:
  struct Range {
    std::int64_t begin = 0, end = 0;
  };
  std::vector<Range> free_between(std::vector<Range> taken) const;
  void fill(const std::vector<Range>& ranges);
  void look_at(std::int32_t stage);

  const Graph& graph_;
  const Plan& plan_;
  std::span<std::byte> arena_;
  std::vector<std::vector<Range>> fresh_;  // by stage: bytes not in use by tensors of before
  std::vector<std::vector<Range>> free_;   // by stage: bytes not in use
  std::string finding_;
};

}  // namespace weft::scheduler
