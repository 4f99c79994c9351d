#pragma once
// Inputs that cross the boundaries at which plans and kernels behave differently: a token in the
// next block of cells, a step in the next width class. A mistake at such a boundary only shows with
// inputs of the right length, so the checks choose their inputs from here.

#include <cstdint>
#include <vector>

#include "weft/check/verify_model.h"
#include "weft/run/session.h"
#include "weft/scheduler/executor.h"

namespace weft::checks {

// Tokens on either side of a boundary.
inline constexpr std::int64_t kMargin = 2;

struct Borders {
  std::vector<std::int64_t> cells;   // lengths that fill whole blocks of cells
  std::vector<std::int64_t> widths;  // max tokens of the width classes, except decode
};
// The boundaries that `n_tokens` tokens cross from both sides, in ascending order.
Borders borders_of(const Session& session, std::int64_t n_tokens);

// The number of tokens that cross all boundaries that a model of this size can reach within
// seconds: at least that of the first block of cells, at most that of the widest class, limited by
// the context.
std::int64_t tokens_across_borders(const Model& model, const SessionOptions& options);

// Gives every sequence of a model with an encoder the same text, across the end of a block of
// cells if a step can have as many tokens. Other models need none.
void give_texts(Session& session);
std::vector<std::int32_t> text_for(const Session& session);

// Always the same ids.
std::vector<std::int32_t> random_ids(const Model& model, std::int64_t n);

// A step of n tokens that starts at position `at`.
struct BorderStep {
  std::int64_t at = 0, n = 1;
};
// Steps across the boundaries: the first block of cells is crossed by one wide step and by two
// decode steps on either side; further steps exactly fill a width class, or are one token too long
// for it. The first three are the most useful. No step is longer than `max_width`.
inline constexpr std::size_t kBestBorderSteps = 3;
std::vector<BorderStep> border_steps(const Borders& borders, std::int64_t n_tokens,
                                     std::int64_t max_width);

// How many rows of all projections their definitions can compute within seconds.
std::int64_t affordable_definitions(const Model& model);

// Passes to `next` only the last `max_rows` rows of nodes whose output rows depend only on the same
// row of the inputs (projections, norms), so that the definition of a wide step costs no more than
// that of a narrow one. Nodes that use other rows, such as attention, are passed completely.
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

// Runs these steps in a session with one lane, as many as time allows. Compares their nodes with
// the definitions, and adds them to `result`, with the reason if they ended early. Overwrites the
// sequence. Throws what Session and Verifier throw.
void verify_across_borders(Session& session, ModelVerification& result);

}  // namespace weft::checks
