#pragma once
// Finds kernels that use memory where nothing lives. Between stages, bytes of the arena that no
// tensor owns, and before every call the scratch memory, are filled with 0xff, which is NaN in
// every float type; then what a stage made must hold no NaN, and what nobody owns no other byte.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/graph/graph.h"
#include "weft/scheduler/plan.h"

namespace weft::scheduler {

// Whether the environment asks for it: WEFT_POISON is set, and not to 0.
bool poison_wanted();

class Poison {
 public:
  // All are kept by reference.
  Poison(const Graph& graph, const Plan& plan, std::span<std::byte> arena);

  // Before a run: everything but the inputs.
  void begin();
  // What dies with the stage.
  void end_stage(std::int32_t stage);

  static void before_call(const KernelArgs& args);
  // Whether a call left NaN; the first finding is kept.
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
  std::vector<std::vector<Range>> fresh_;  // by stage: where nothing lives that came before it
  std::vector<std::vector<Range>> free_;   // by stage: where nothing lives
  std::string finding_;
};

}  // namespace weft::scheduler
