#pragma once
// For graphs in tests: the inputs of attention that define which cells each token sees.

#include <cstdint>
#include <numeric>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/ops/attention.h"
#include "weft/ops/cache_cells.h"

#include "support/eval.h"

namespace weft::test {

// Inputs "table" [n_sequences, M], "slot", "first" and "last" [T] for sequences of at least
// `n_cells` positions.
inline AttentionRuns runs_inputs(Graph& g, Dim n_tokens, std::int64_t n_cells,
                                 std::int64_t n_sequences = 1) {
  const std::int64_t n_blocks = blocks_for(n_cells);
  return {.table = g.input("table", {i32, {n_sequences, n_blocks}}),
          .slot = g.input("slot", {i32, {n_tokens}}),
          .first = g.input("first", {i32, {n_tokens}}),
          .last = g.input("last", {i32, {n_tokens}})};
}

// One sequence, which has the blocks of the pool in order: its positions are cells.
inline Evaluator& set_runs(Evaluator& eval, const std::vector<std::int32_t>& first,
                           const std::vector<std::int32_t>& last) {
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(eval.view(eval.node("table")).dim(1)));
  std::iota(blocks.begin(), blocks.end(), 0);
  const std::vector<std::int32_t> slot(first.size());
  return eval.ints("table", blocks).ints("slot", slot).ints("first", first).ints("last", last);
}

}  // namespace weft::test
