// choose_positions, chosen_attention and joined_attention.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/attention/choose_positions.h"
#include "weft/ops/attention/chosen_attention.h"
#include "weft/ops/attention/joined_attention.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q8_0.h"

#include "cpu/kernel_test.h"
#include "support/runs.h"

namespace weft::test {
namespace {

struct Choice {
  DType cache = f32;
  std::int64_t t = 1, s = 1, heads = 1, e = 8;
  ChoosePositionsAttrs attrs = {};
  bool weights = false;
  float step = 0;  // above 0: scores are multiples of it, so that many are equal
};

Floats values(std::int64_t n, std::uint32_t seed, float scale, float step = 0) {
  Floats all = noise(static_cast<std::size_t>(n), seed);
  for (float& x : all) x = step > 0 ? std::round(x / step) : x * scale;
  return all;
}

void check_choice(const Choice& c, std::uint32_t seed, float extra_key = 0) {
  CAPTURE(c.cache.name());
  CAPTURE(c.s);
  CAPTURE(c.attrs.k);
  CAPTURE(c.attrs.span);
  Graph g;
  const std::int64_t n_cells = 2 * round_up_to_blocks(c.s);
  const Tensor q = g.input("q", {f32, {c.t, c.heads, c.e}}),
               k = g.state("k", {c.cache, cache_shape(n_cells, 1, c.e)});
  const AttentionRuns runs = runs_inputs(g, c.t, c.s, 2);
  const Tensor w = c.weights ? g.input("w", {f32, {c.t, c.heads}}) : Tensor();
  g.output("y", choose_positions(q, k, runs, c.attrs, w));
  Evaluator eval(g, kOddRows);
  eval.floats("q", values(c.t * c.heads * c.e, seed, 4, c.step));
  Floats keys = values(n_cells * c.e, seed + 1, 4, c.step);
  for (std::size_t i = 0; i < keys.size() && extra_key != 0; i += 97) keys[i] = extra_key;
  eval.floats("k", keys);
  if (w) eval.floats("w", values(c.t * c.heads, seed + 2, 1, c.step));
  set_random_runs(eval, c.s, seed).run();
  check_kernel(g, eval, "y", seed);
}

TEST_CASE("choose_positions: widths and numbers of heads, every cache type") {
  std::uint32_t seed = 1;
  for (const DType cache : cache_types()) {
    for (const std::int64_t e : {1, 3, 8, 17, 32, 64, 128}) {
      if (e % cache.block_elems() != 0) continue;
      for (const std::int64_t heads : {1, 3, 4, 6, 65}) {
        Choice c{.cache = cache, .t = 5, .s = 150, .heads = heads, .e = e, .attrs = {.k = 20}};
        check_choice(c, ++seed);
        c.weights = true;
        check_choice(c, ++seed);
      }
    }
  }
}

TEST_CASE("choose_positions: numbers of cells around the block, spans, with many equal scores") {
  std::uint32_t seed = 100;
  for (const std::int64_t s : {1, 2, 63, 64, 65, 128, 131, 260}) {
    for (const std::int32_t span : {1, 2, 7, 64, 100, 128}) {
      for (const std::int32_t k : {1, 2, 9, 64, 1000}) {
        Choice c{.t = 7, .s = s, .heads = 2, .e = 4, .attrs = {.k = k, .span = span}};
        c.attrs.always = k % 3;
        c.step = 0.6f;
        check_choice(c, ++seed);
        c.weights = true;
        check_choice(c, ++seed);
      }
    }
  }
}

TEST_CASE("choose_positions: NaN and infinite scores") {
  std::uint32_t seed = 1;
  for (const float key : {std::numeric_limits<float>::quiet_NaN(), INFINITY, -INFINITY, 3e38f}) {
    for (const bool weights : {false, true}) {
      check_choice({.t = 3, .s = 140, .heads = 3, .e = 8, .attrs = {.k = 130}, .weights = weights},
                   ++seed, key);
    }
  }
}

struct Case {
  DType k = f32, v = f32;
  std::int64_t t = 1, s = 1, heads = 1, groups = 1, e = 8, e_out = 8;
  std::int64_t choices = 1, n_chosen = 1;
  std::int32_t span = 1;
  bool sinks = false, all = false;  // all: the first numbers, without gaps
};

// Ascending numbers of spans for each token and choice; -1 fills the rest.
std::vector<std::int32_t> numbers(const Case& c, std::uint32_t seed) {
  std::mt19937 rng(seed);
  const auto n_spans = static_cast<std::int32_t>((c.s + c.span - 1) / c.span);
  std::vector<std::int32_t> all;
  for (std::int64_t i = 0; i < c.t * c.choices; ++i) {
    std::vector<std::int32_t> spans(static_cast<std::size_t>(n_spans));
    std::iota(spans.begin(), spans.end(), 0);
    if (!c.all) std::shuffle(spans.begin(), spans.end(), rng);
    spans.resize(std::min(spans.size(), static_cast<std::size_t>(c.n_chosen)));
    std::sort(spans.begin(), spans.end());
    spans.resize(static_cast<std::size_t>(c.n_chosen), -1);
    all.insert(all.end(), spans.begin(), spans.end());
  }
  return all;
}

void check_attention(const Case& c, std::uint32_t seed) {
  CAPTURE(c.s);
  CAPTURE(c.span);
  CAPTURE(c.n_chosen);
  Graph g;
  const std::int64_t n_cells = 2 * round_up_to_blocks(c.s);
  const Tensor q = g.input("q", {f32, {c.t, c.heads, c.e}}),
               k = g.state("k", {c.k, cache_shape(n_cells, c.groups, c.e)}),
               v = g.state("v", {c.v, cache_shape(n_cells, c.groups, c.e_out)}),
               chosen = g.input("chosen", {i32, {c.t, c.choices, c.n_chosen}}),
               sinks = c.sinks ? g.weight("sinks", {f32, {c.heads}}) : Tensor();
  const AttentionRuns runs = runs_inputs(g, c.t, c.s, 2);
  const float scale = 1 / std::sqrt(static_cast<float>(c.e));
  g.output("y", chosen_attention(q, k, v, runs, chosen, {.scale = scale, .span = c.span}, sinks));
  Evaluator eval(g, kOddRows);
  eval.floats("q", values(c.t * c.heads * c.e, seed, 4));
  eval.floats("k", values(n_cells * c.groups * c.e, seed + 1, 4));
  eval.floats("v", values(n_cells * c.groups * c.e_out, seed + 2, 1));
  if (sinks) eval.floats("sinks", values(c.heads, seed + 3, 1));
  eval.ints("chosen", numbers(c, seed));
  set_random_runs(eval, c.s, seed).run();
  check_kernel(g, eval, "y", seed);
}

TEST_CASE("chosen_attention: spans and numbers of chosen ones, in gaps, whole blocks and all") {
  std::uint32_t seed = 1;
  for (const std::int64_t s : {1, 63, 64, 65, 200, 400}) {
    for (const std::int32_t span : {1, 3, 32, 64, 100, 128}) {
      for (const std::int64_t n : {1, 2, 9, 70, 400}) {
        Case c{.t = 5, .s = s, .heads = 4, .groups = 2, .choices = 2, .n_chosen = n, .span = span};
        check_attention(c, ++seed);
        c.all = true;
        c.sinks = true;
        check_attention(c, ++seed);
      }
    }
  }
}

TEST_CASE("chosen_attention: every cache type, heads that share keys or choices") {
  std::uint32_t seed = 1;
  for (const DType cache : cache_types()) {
    for (const auto& [heads, groups, choices] :
         {std::array<std::int64_t, 3>{1, 1, 1}, {6, 2, 1}, {6, 1, 3}, {6, 2, 3}, {20, 1, 1}}) {
      for (const std::int32_t span : {1, 64}) {
        check_attention({.k = cache,
                         .v = cache,
                         .t = 6,
                         .s = 300,
                         .heads = heads,
                         .groups = groups,
                         .e = 96,
                         .e_out = 32,
                         .choices = choices,
                         .n_chosen = span == 1 ? 90 : 3,
                         .span = span,
                         .sinks = heads == 6},
                        ++seed);
      }
    }
  }
  check_attention({.k = q8_0, .v = f16, .t = 3, .s = 90, .e = 32, .e_out = 7, .n_chosen = 50}, 5);
}

TEST_CASE("chosen_attention: without any position the result is 0") {
  for (const bool sinks : {false, true}) {
    Graph g;
    const Tensor q = g.input("q", {f32, {1, 2, 4}}), k = g.state("k", {f32, cache_shape(9, 1, 4)}),
                 v = g.state("v", {f32, cache_shape(9, 1, 5)}),
                 chosen = g.input("chosen", {i32, {1, 1, 2}}),
                 sink = sinks ? g.weight("sinks", {f32, {2}}) : Tensor();
    g.output("y", chosen_attention(q, k, v, runs_inputs(g, 1, 9), chosen, {}, sink));
    Evaluator eval(g);
    eval.floats("q", noise(8, 1)).floats("k", noise(256, 2)).floats("v", noise(320, 3));
    if (sinks) eval.floats("sinks", noise(2, 4));
    eval.ints("chosen", {0, -1});
    set_runs(eval, {3}, {8}).run();
    CHECK(run_kernel(g, eval, "y") == Floats(10, 0.0f));
  }
}

// The second run of token t has its first (t - 1) % s2 + 1 positions; that of token 0 is empty.
void check_joined(const Case& c, std::int64_t s2, std::uint32_t seed) {
  CAPTURE(c.k.name());
  CAPTURE(c.s);
  CAPTURE(s2);
  CAPTURE(c.n_chosen);
  Graph g;
  const std::int64_t n_cells = 2 * round_up_to_blocks(c.s), n_cells2 = 2 * round_up_to_blocks(s2);
  const Tensor q = g.input("q", {f32, {c.t, c.heads, c.e}}),
               k = g.state("k", {c.k, cache_shape(n_cells, 1, c.e)}),
               k2 = g.state("k2", {c.k, cache_shape(n_cells2, 1, c.e)}),
               table2 = g.input("table2", {i32, {2, blocks_for(s2)}}),
               first2 = g.input("first2", {i32, {c.t}}), last2 = g.input("last2", {i32, {c.t}}),
               sinks = c.sinks ? g.weight("sinks", {f32, {c.heads}}) : Tensor();
  const Tensor chosen = c.n_chosen > 0 ? g.input("chosen", {i32, {c.t, 1, c.n_chosen}}) : Tensor();
  const AttentionRuns runs = runs_inputs(g, c.t, c.s, 2);
  const float scale = 1 / std::sqrt(static_cast<float>(c.e));
  g.output("y",
           joined_attention(q, {k, runs, {}}, {k2, {table2, {}, first2, last2}, chosen},
                            {.scale = scale, .window = static_cast<std::int32_t>(c.s)}, sinks));
  Evaluator eval(g, kOddRows);
  eval.floats("q", values(c.t * c.heads * c.e, seed, 4));
  eval.floats("k", values(n_cells * c.e, seed + 1, 4));
  eval.floats("k2", values(n_cells2 * c.e, seed + 2, 4));
  if (sinks) eval.floats("sinks", values(c.heads, seed + 3, 1));
  Case of_second = c;
  of_second.s = s2;
  if (chosen) eval.ints("chosen", numbers(of_second, seed));
  std::vector<std::int32_t> blocks, last;
  for (std::int64_t b = 2 * blocks_for(s2); b-- > 0;)
    blocks.push_back(static_cast<std::int32_t>(b));
  for (std::int64_t t = 0; t < c.t; ++t)
    last.push_back(t == 0 ? -1 : static_cast<std::int32_t>((t - 1) % s2));
  last.back() = static_cast<std::int32_t>(s2 - 1);
  eval.ints("table2", blocks).ints("last2", last);
  eval.ints("first2", std::vector<std::int32_t>(last.size(), 0));
  set_random_runs(eval, c.s, seed).run();
  check_kernel(g, eval, "y", seed);
}

TEST_CASE("joined_attention: numbers of cells of both runs, some or all of the second") {
  std::uint32_t seed = 1;
  for (const std::int64_t s : {1, 63, 64, 65, 200}) {
    for (const std::int64_t s2 : {1, 64, 65, 150}) {
      for (const std::int64_t n_chosen : {0, 1, 9, 70}) {
        check_joined({.t = 6, .s = s, .heads = 3, .n_chosen = n_chosen, .sinks = n_chosen % 2 == 0},
                     s2, ++seed);
      }
    }
  }
}

TEST_CASE("joined_attention: every cache type, numbers of heads") {
  std::uint32_t seed = 1;
  for (const DType cache : cache_types()) {
    for (const std::int64_t heads : {1, 4, 9}) {
      for (const std::int64_t n_chosen : {0, 20}) {
        check_joined({.k = cache,
                      .t = 5,
                      .s = 100,
                      .heads = heads,
                      .e = 64,
                      .n_chosen = n_chosen,
                      .sinks = true},
                     90, ++seed);
      }
    }
  }
}

TEST_CASE("choose_positions: an empty run chooses nothing") {
  Graph g;
  g.output("y", choose_positions(g.input("q", {f32, {1, 2, 4}}),
                                 g.state("k", {f32, cache_shape(9, 1, 4)}), runs_inputs(g, 1, 9),
                                 {.k = 3}, g.input("w", {f32, {1, 2}})));
  Evaluator eval(g);
  eval.floats("q", noise(8, 1)).floats("k", noise(256, 2)).floats("w", noise(2, 3));
  set_runs(eval, {0}, {-1}).run();
  check_kernel(g, eval, "y", 1);
}

}  // namespace
}  // namespace weft::test
