#pragma once
// Inputs that cross the borders at which plans and kernels begin to do something else: a token in
// the next block of cells, a step in the next width class. A mistake at such a border shows with
// inputs of just the right length, so the checks choose theirs from here.

#include <cstdint>
#include <vector>

#include "weft/check/verify_model.h"
#include "weft/run/session.h"
#include "weft/scheduler/executor.h"

namespace weft::checks {

// Tokens on either side of a border.
inline constexpr std::int64_t kBeside = 2;

struct Borders {
  std::vector<std::int64_t> cells;   // lengths that fill whole blocks of cells
  std::vector<std::int64_t> widths;  // most tokens of the width classes, but for decode
};
// Those that `n_tokens` tokens cross from both sides, in rising order.
Borders borders_of(const Session& session, std::int64_t n_tokens);

// As many tokens as cross the borders that a model of this size reaches within seconds: at least
// those of the first block of cells, at most those of the widest class, as far as the context goes.
std::int64_t tokens_across_borders(const Model& model, const SessionOptions& options);

// The same ids every time.
std::vector<std::int32_t> random_ids(const Model& model, std::int64_t n);

// A step of n tokens that begins at position `at`.
struct BorderStep {
  std::int64_t at = 0, n = 1;
};
// The first block of cells is crossed by one wide step, by two decode steps on either side, and by
// steps that just fill a width class and that are one token too long for it. The first three are
// worth the most. None is longer than `max_width`.
inline constexpr std::size_t kBestBorderSteps = 3;
std::vector<BorderStep> border_steps(const Borders& borders, std::int64_t n_tokens,
                                     std::int64_t max_width);

// How many rows of how many projections their definitions can compute within seconds, in rows of a
// pass over all weights.
std::int64_t affordable_definitions(const Model& model);

// Shows `next` of every node no more than the last `max_rows` rows where each row of the output
// needs nothing but its own row of the inputs (projections, norms): the definition of a wide step
// then costs no more than that of a narrow one. Nodes that look at other rows, such as attention,
// are shown whole.
class LastRows final : public NodeObserver {
 public:
  // REQUIRES: graph and next outlive it.
  LastRows(const Graph& graph, NodeObserver& next, std::int64_t max_rows);
  void before(const PlanStep& step, int worker, const KernelArgs& args,
              const Region& region) noexcept override;
  void after(const PlanStep& step, int worker, const KernelArgs& args,
             const Region& region) noexcept override;

 private:
  bool narrows(const PlanStep& step, const KernelArgs& args) const;
  const KernelArgs& narrowed(const PlanStep& step, const KernelArgs& args);

  const Graph& graph_;
  NodeObserver& next_;
  std::int64_t max_rows_;
  std::vector<View> in_;
  KernelArgs args_;
};

// Runs those steps in a session of one lane, as many as can be afforded, compares their nodes with
// the definitions, and adds them to `result`, with what stopped them. What the sequence held is
// forgotten. Throws what Session and Verifier throw.
void verify_across_borders(Session& session, ModelVerification& result);

}  // namespace weft::checks
