#include "weft/ops/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q5_0.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/projections/quantize.h"

#include "cpu/kernel_test.h"
#include "support/cells.h"
#include "support/runs.h"

namespace weft::test {
namespace {

struct Case {
  DType k = f32, v = f32;
  std::int64_t t = 1, s = 1, heads = 1, groups = 1, e = 8, e_out = 8;
  bool q_in_blocks = false;
  float softcap = 0, alibi = 0;  // these make it biased_attention
  bool pos = false, sinks = false;
  std::int64_t reach = 0;  // largest distance with a bias of its own; 0: no distances
};

// Adds the inputs of biased_attention.
AttentionBias bias_inputs(Graph& g, const Case& c) {
  AttentionBias bias{
      .softcap = c.softcap, .alibi = c.alibi, .pos = {}, .sinks = {}, .distances = {}};
  if (c.pos) bias.pos = g.input("pos", {i32, {c.t}});
  if (c.sinks) bias.sinks = g.weight("sinks", {f32, {c.heads}});
  if (c.reach > 0) bias.distances = g.weight("distances", {f32, {2 * c.reach + 1, c.heads}});
  return bias;
}

void fill_bias(Evaluator& eval, const Case& c, std::uint32_t seed) {
  std::mt19937 rng(seed);
  if (c.pos) {
    std::vector<std::int32_t> pos;
    for (std::int64_t t = 0; t < c.t; ++t)
      pos.push_back(static_cast<std::int32_t>(rng() % static_cast<std::uint32_t>(c.s)));
    eval.ints("pos", pos);
  }
  if (c.sinks) eval.floats("sinks", noise(static_cast<std::size_t>(c.heads), seed + 4));
  if (c.reach > 0) {
    const std::int64_t n = (2 * c.reach + 1) * c.heads;
    eval.floats("distances", noise(static_cast<std::size_t>(n), seed + 5));
  }
}

void check_attention(const Case& c, std::uint32_t seed) {
  CAPTURE(c.t);
  CAPTURE(c.s);
  CAPTURE(c.e);
  CAPTURE(c.e_out);
  Graph g;
  const Tensor q = g.input("q", {f32, {c.t, c.heads, c.e}});
  // Twice the blocks of one sequence, so that two sequences have some each.
  const std::int64_t n_cells = 2 * round_up_to_blocks(c.s);
  const Tensor k = g.state("k", {c.k, cache_shape(n_cells, c.groups, c.e)}),
               v = g.state("v", {c.v, cache_shape(n_cells, c.groups, c.e_out)});
  const AttentionRuns runs = runs_inputs(g, c.t, c.s, 2);
  g.output("y", attention(c.q_in_blocks ? quantize(q) : q, k, v, runs,
                          {.scale = 1.0f / std::sqrt(static_cast<float>(c.e))}, bias_inputs(g, c)));
  Evaluator eval(g, kOddRows);
  fill_bias(eval, c, seed);
  const auto fill = [&](const char* path, std::int64_t n, std::uint32_t from, float scale) {
    Floats values = noise(static_cast<std::size_t>(n), from);
    for (float& x : values) x *= scale;
    eval.floats(path, values);
  };
  fill("q", c.t * c.heads * c.e, seed, 4);
  fill("k", n_cells * c.groups * c.e, seed + 1, 4);
  fill("v", n_cells * c.groups * c.e_out, seed + 2, 1);
  set_random_runs(eval, c.s, seed).run();
  check_kernel(g, eval, "y", seed);
}

TEST_CASE("attention: head widths around the vector widths") {
  std::uint32_t seed = 1;
  for (const DType cache : {f32, f16}) {
    for (const std::int64_t e :
         {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 80, 127, 128}) {
      check_attention({.k = cache,
                       .v = cache,
                       .t = 2,
                       .s = 37,
                       .heads = 6,
                       .groups = 2,
                       .e = e,
                       .e_out = e == 64 ? 40 : e},
                      ++seed);
    }
  }
}

TEST_CASE("attention: numbers of cells around the block, groups of every size") {
  std::uint32_t seed = 100;
  for (const DType cache : {f32, f16}) {
    for (const std::int64_t s : {1, 2, 31, 33, 63, 64, 65, 131}) {
      for (const std::int64_t heads : {1, 3, 4, 5, 9}) {
        check_attention({.k = cache,
                         .v = cache,
                         .t = 7,
                         .s = s,
                         .heads = heads * 2,
                         .groups = 2,
                         .e = 24,
                         .e_out = 24},
                        ++seed);
      }
    }
  }
}

TEST_CASE("attention: many tokens") {
  check_attention(
      {.k = f16, .v = f16, .t = 64, .s = 100, .heads = 8, .groups = 2, .e = 32, .e_out = 32}, 7);
}

TEST_CASE("attention: a token's result does not depend on which blocks store its cells") {
  for (const DType cache : cache_types()) {
    Graph g;
    const Tensor q = g.input("q", {f32, {2, 2, 32}});
    const Tensor k = g.state("k", {cache, cache_shape(256, 1, 32)}),
                 v = g.state("v", {cache, cache_shape(256, 1, 32)});
    const Tensor rows = cache.block_elems() > 1 ? quantize(q) : q;
    g.output("y", attention(rows, k, v, runs_inputs(g, 2, 256, 2), {.scale = 0.2f}));
    const auto doubled = [&](std::size_t n, std::uint32_t seed) {
      const Floats half = noise(n, seed);
      Floats both = half;
      both.insert(both.end(), half.begin(), half.end());
      return both;
    };
    Evaluator eval(g);
    eval.floats("q", doubled(64, 1)).floats("k", doubled(4096, 2)).floats("v", doubled(4096, 3));
    // The same positions in other blocks, and other positions as far from a border.
    eval.ints("table", {0, 1, 2, 3, -1, -1, 2, 1}).ints("table_row", {0, 1});
    eval.ints("first", {3, 131}).ints("last", {90, 218}).run();
    const Floats y = run_kernel(g, eval, "y");
    CHECK(Floats(y.begin(), y.begin() + 64) == Floats(y.begin() + 64, y.end()));
  }
}

TEST_CASE("attention: every pair of types, heads of whole blocks") {
  std::uint32_t seed = 300;
  for (const DType k : cache_types()) {
    for (const DType v : cache_types()) {
      for (const std::int64_t e : {32, 64, 96, 160, 256}) {
        for (const std::int64_t t : {1, 5}) {
          Case c{.k = k, .v = v, .t = t, .s = 70, .heads = 6, .groups = 2, .e = e, .e_out = e};
          if (e == 64) c.e_out = 128;
          check_attention(c, ++seed);
          c.q_in_blocks = true;
          check_attention(c, seed);
        }
      }
    }
  }
}

TEST_CASE("integer attention: numbers of cells around the block, groups of every size") {
  std::uint32_t seed = 500;
  for (const DType cache : {q8_0, q5_0, q4_0}) {
    for (const std::int64_t s : {1, 2, 15, 17, 63, 64, 65, 131, 700}) {
      for (const std::int64_t heads : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
        check_attention({.k = cache,
                         .v = cache,
                         .t = 5,
                         .s = s,
                         .heads = heads * 2,
                         .groups = 2,
                         .e = 64,
                         .e_out = 64,
                         .q_in_blocks = true},
                        ++seed);
      }
    }
  }
}

// Causal tokens of two sequences, some after others, in blocks here and there.
TEST_CASE("biased_attention: softcap, slopes, sinks and distances, each alone and all together") {
  std::uint32_t seed = 500;
  for (const DType cache : {f32, f16, q8_0}) {
    for (const std::int64_t t : {1, 5, 40}) {
      const Case plain{
          .k = cache, .v = cache, .t = t, .s = 150, .heads = 12, .groups = 2, .e = 32, .e_out = 32};
      std::vector<Case> cases(5, plain);
      cases[0].softcap = 3;
      cases[1].alibi = 8;
      cases[1].pos = t == 5;
      cases[2].sinks = true;
      cases[3].reach = 20;
      cases[4].softcap = 50;
      cases[4].alibi = 2;
      cases[4].pos = cases[4].sinks = true;
      cases[4].reach = 3;
      for (Case& c : cases) {
        CAPTURE(cache.name());
        check_attention(c, ++seed);
        c.q_in_blocks = cache == q8_0;
        check_attention(c, ++seed);
      }
    }
  }
}

TEST_CASE("biased_attention: a sink larger than all scores takes nearly all of the weight") {
  for (const float sink : {40.0f, -40.0f, -std::numeric_limits<float>::infinity()}) {
    Graph g;
    const Tensor q = g.input("q", {f32, {1, 2, 8}});
    const Tensor k = g.state("k", {f32, cache_shape(64, 1, 8)}),
                 v = g.state("v", {f32, cache_shape(64, 1, 8)});
    AttentionBias bias{.pos = {}, .sinks = g.weight("sinks", {f32, {2}}), .distances = {}};
    g.output("y", attention(q, k, v, runs_inputs(g, 1, 64), {.scale = 1}, bias));
    Evaluator eval(g);
    eval.floats("q", noise(16, 1)).floats("k", noise(512, 2)).floats("v", Floats(512, 1.0f));
    eval.floats("sinks", {sink, 0}).ints("table", {0}).ints("table_row", {0});
    eval.ints("first", {0}).ints("last", {9}).run();
    const Floats y = run_kernel(g, eval, "y");
    CHECK((sink > 0 ? y[0] < 1e-10f : y[0] > 0.999f));
    CHECK((y[8] > 0.1f && y[8] < 0.999f));
  }
}

TEST_CASE("attention: a token has the same bits alone and in a batch") {
  constexpr std::int64_t kTokens = 150, kRoom = 320;
  for (const DType cache : cache_types()) {
    for (const std::int64_t heads : {1, 3, 8, 9}) {
      Graph g;
      const Tensor q = g.input("q", {f32, {kTokens, 2 * heads, 32}});
      const Tensor k = g.state("k", {cache, cache_shape(2 * kRoom, 2, 32)}),
                   v = g.state("v", {cache, cache_shape(2 * kRoom, 2, 32)});
      const AttentionRuns runs = runs_inputs(g, kTokens, kRoom, 2);
      const Tensor rows = cache.block_elems() > 1 ? quantize(q) : q;
      const Tensor y = attention(rows, k, v, runs, {.scale = 0.2f});
      g.output("y", y);
      Evaluator eval(g, kOddRows);
      eval.floats("q", noise(static_cast<std::size_t>(kTokens * 2 * heads * 32), 1));
      const auto n = static_cast<std::size_t>(round_up_to_blocks(2 * kRoom) * 2 * 32);
      eval.floats("k", noise(n, 2)).floats("v", noise(n, 3));
      std::vector<std::int32_t> table_row, end;
      for (std::int32_t t = 0; t < kTokens; ++t) {
        table_row.push_back(t < 100 ? 0 : 1);
        end.push_back(t < 100 ? 20 + t : t - 100);
      }
      eval.ints("table", {3, 9, 0, 7, 4, 1, 8, 2, 6, 5}).ints("table_row", table_row);
      eval.ints("first", std::vector<std::int32_t>(kTokens)).ints("last", end).run();
      CAPTURE(cache.name());
      CAPTURE(heads);
      check_kernel(g, eval, "y", 1);  // cuts rows and columns anywhere
    }
  }
}

TEST_CASE("attention: cells of later tokens do not affect earlier ones, not even a NaN") {
  for (const DType cache : {f32, q8_0}) {  // Q4_0 cannot hold a NaN
    CAPTURE(cache.name());
    Graph g;
    const Tensor q = g.input("q", {f32, {40, 2, 32}});
    const Tensor k = g.state("k", {cache, cache_shape(40, 1, 32)}),
                 v = g.state("v", {cache, cache_shape(40, 1, 32)});
    const Tensor rows = cache.block_elems() > 1 ? quantize(q) : q;
    g.output("y", attention(rows, k, v, runs_inputs(g, 40, 40), {.scale = 0.2f}));
    Evaluator eval(g);
    Floats ks = noise(40 * 32, 2), vs = noise(40 * 32, 3);
    for (std::size_t i = 30 * 32; i < 40 * 32; ++i)
      ks[i] = vs[i] = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::int32_t> begin(40, 0), end;
    for (std::int32_t t = 0; t < 40; ++t) end.push_back(t);
    eval.floats("q", noise(40 * 64, 1))
        .floats("k", in_cells(ks, 1, 32))
        .floats("v", in_cells(vs, 1, 32));
    set_runs(eval, begin, end).run();
    const Floats y = run_kernel(g, eval, "y");
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i >= 30 * 64));
  }
}

// One key is far ahead of all others, so that whole blocks of cells fall below kLeastPeak, and the
// scales of neighbouring cells are far apart.
TEST_CASE("integer attention: blocks with negligible weight, unequal scales") {
  for (const DType cache : {q8_0, q5_0, q4_0}) {
    for (const std::size_t ahead : {3, 70, 130}) {
      Graph g;
      const Tensor q = g.input("q", {f32, {1, 4, 32}});
      const Tensor k = g.state("k", {cache, cache_shape(190, 1, 32)}),
                   v = g.state("v", {cache, cache_shape(190, 1, 32)});
      g.output("y", attention(quantize(q), k, v, runs_inputs(g, 1, 190), {.scale = 1}));
      Floats ks = noise(192 * 32, 2), vs = noise(192 * 32, 3);
      for (std::size_t i = 0; i < 32; ++i) ks[ahead * 32 + i] = 8;
      for (std::size_t i = 0; i < vs.size(); ++i)
        vs[i] *= std::ldexp(1.0f, -static_cast<int>(i / 32 % 12));
      Evaluator eval(g);
      eval.floats("q", Floats(128, 1)).floats("k", ks).floats("v", vs);
      set_runs(eval, {0}, {189}).run();
      CAPTURE(cache.name());
      CAPTURE(ahead);
      check_kernel(g, eval, "y", 1);
    }
  }
}

TEST_CASE("integer attention: a NaN among the values reaches its block of elements") {
  Graph g;
  const Tensor q = g.input("q", {f32, {1, 2, 64}});
  const Tensor k = g.state("k", {q8_0, cache_shape(70, 1, 64)}),
               v = g.state("v", {q8_0, cache_shape(70, 1, 64)});
  g.output("y", attention(quantize(q), k, v, runs_inputs(g, 1, 70), {.scale = 0.2f}));
  Evaluator eval(g);
  Floats vs = noise(128 * 64, 3);
  std::fill_n(vs.begin() + 5 * 64 + 32, 32, std::numeric_limits<float>::quiet_NaN());
  eval.floats("q", noise(128, 1)).floats("k", noise(128 * 64, 2)).floats("v", vs);
  set_runs(eval, {0}, {69}).run();
  const Floats y = run_kernel(g, eval, "y");
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i % 64 >= 32));
}

TEST_CASE("attention: rows name the types of the cache") {
  const auto name = [](DType k, DType v, DType rows = f32) {
    Graph g;
    const Tensor q = g.input("q", {rows, {1, 1, 32}});
    const Tensor y =
        attention(q, g.state("k", {k, cache_shape(8, 1, 32)}),
                  g.state("v", {v, cache_shape(8, 1, 32)}), runs_inputs(g, 1, 8), {.scale = 1});
    const auto kernel = cpu_backend().find(g, g[y.id()]);
    return kernel ? std::string(kernel->row.substr(0, kernel->row.rfind(' '))) : "none";
  };
  CHECK(name(f16, f16) == "attention f16");
  CHECK(name(q8_0, q4_0) == "attention q8_0 q4_0");
  CHECK(name(q8_0, q8_0, q8a) == "attention q8a q8_0");
}

// One token and one head over 40 cells with a key or a query changed.
Floats with(const char* path, std::size_t at, float value) {
  Graph g;
  const Tensor q = g.input("q", {f32, {1, 1, 8}});
  const Tensor k = g.state("k", {f32, cache_shape(40, 1, 8)}),
               v = g.state("v", {f32, cache_shape(40, 1, 8)});
  g.output("y", attention(q, k, v, runs_inputs(g, 1, 40), {.scale = 1}));
  Evaluator eval(g);
  Floats qs(8, 1.0f), ks = noise(320, 1), vs = noise(320, 2);
  (path[0] == 'q' ? qs : path[0] == 'k' ? ks : vs)[at] = value;
  eval.floats("q", qs).floats("k", in_cells(ks, 1, 8)).floats("v", in_cells(vs, 1, 8));
  set_runs(eval, {0}, {39}).run();
  return run_kernel(g, eval, "y");
}

TEST_CASE("attention: NaN propagates, a score of -inf is a weight of 0") {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  for (const float y : with("q", 3, nan)) CHECK(std::isnan(y));
  for (const std::size_t cell : {0, 17, 39}) {
    for (const float y : with("k", cell * 8, nan)) CHECK(std::isnan(y));
    for (const float y : with("k", cell * 8, -inf)) CHECK(std::isfinite(y));
  }
  CHECK(std::isnan(with("v", 8 * 5 + 2, nan)[2]));
  CHECK(std::isfinite(with("v", 8 * 5 + 2, nan)[3]));
}

}  // namespace
}  // namespace weft::test
