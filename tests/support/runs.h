#pragma once
// For graphs in tests: the inputs of attention that define which cells each token sees.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/ops/attention/attention.h"
#include "weft/ops/attention/cache_cells.h"

#include "support/eval.h"

namespace weft::test {

// Inputs "table" [n_sequences, M], "table_row", "first" and "last" [T] for sequences of at least
// `n_cells` positions.
inline AttentionRuns runs_inputs(Graph& g, Dim n_tokens, std::int64_t n_cells,
                                 std::int64_t n_sequences = 1) {
  const std::int64_t n_blocks = blocks_for(n_cells);
  return {.table = g.input("table", {i32, {n_sequences, n_blocks}}),
          .table_row = g.input("table_row", {i32, {n_tokens}}),
          .first = g.input("first", {i32, {n_tokens}}),
          .last = g.input("last", {i32, {n_tokens}})};
}

// One sequence, which has the blocks of the pool in order: its positions are cells.
inline Evaluator& set_runs(Evaluator& eval, const std::vector<std::int32_t>& first,
                           const std::vector<std::int32_t>& last) {
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(eval.view(eval.node("table")).dim(1)));
  std::iota(blocks.begin(), blocks.end(), 0);
  const std::vector<std::int32_t> table_row(first.size());
  return eval.ints("table", blocks)
      .ints("table_row", table_row)
      .ints("first", first)
      .ints("last", last);
}

// Two sequences of at most `n_positions` positions, which share the blocks of the pool in random
// order, and tokens that take turns of two; the first token sees all positions, others some.
inline Evaluator& set_random_runs(Evaluator& eval, std::int64_t n_positions, std::uint32_t seed) {
  std::mt19937 rng(seed);
  const View table = eval.view(eval.node("table")), tokens = eval.view(eval.node("table_row"));
  std::vector<std::int32_t> first, last, table_row;
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(table.dim(0) * table.dim(1)));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::shuffle(blocks.begin(), blocks.end(), rng);
  for (std::int64_t t = 0; t < tokens.dim(0); ++t) {
    const auto a = static_cast<std::int32_t>(rng() % static_cast<std::uint32_t>(n_positions));
    const auto b = static_cast<std::int32_t>(rng() % static_cast<std::uint32_t>(n_positions));
    first.push_back(t == 0 ? 0 : std::min(a, b));
    last.push_back(t == 0 ? static_cast<std::int32_t>(n_positions - 1) : std::max(a, b));
    table_row.push_back(static_cast<std::int32_t>(t / 2 % 2));
  }
  return eval.ints("table", blocks)
      .ints("table_row", table_row)
      .ints("first", first)
      .ints("last", last);
}

}  // namespace weft::test
