#include "weft/ops/attention.h"

#include <cmath>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "cpu/kernel_test.h"

namespace weft::test {
namespace {

struct Case {
  DType cache = f32;
  std::int64_t t = 1, s = 1, heads = 1, groups = 1, e = 8, e_out = 8;
};

void check_attention(const Case& c, std::uint32_t seed) {
  CAPTURE(c.t);
  CAPTURE(c.s);
  CAPTURE(c.e);
  CAPTURE(c.e_out);
  Graph g;
  const Tensor q = g.input("q", {f32, {c.t, c.heads, c.e}});
  const Tensor k = g.state("k", {c.cache, {c.s, c.groups, c.e}}),
               v = g.state("v", {c.cache, {c.s, c.groups, c.e_out}});
  const Tensor first = g.input("first", {i32, {c.t}}), last = g.input("last", {i32, {c.t}});
  g.output("y",
           attention(q, k, v, first, last, {.scale = 1.0f / std::sqrt(static_cast<float>(c.e))}));
  Evaluator eval(g, kOddRows);
  const auto fill = [&](const char* path, std::int64_t n, std::uint32_t from, float scale) {
    Floats values = noise(static_cast<std::size_t>(n), from);
    for (float& x : values) x *= scale;
    eval.floats(path, values);
  };
  fill("q", c.t * c.heads * c.e, seed, 4);
  fill("k", c.s * c.groups * c.e, seed + 1, 4);
  fill("v", c.s * c.groups * c.e_out, seed + 2, 1);
  std::mt19937 rng(seed);
  std::vector<std::int32_t> begin, end;
  for (std::int64_t t = 0; t < c.t; ++t) {
    const auto a = static_cast<std::int32_t>(rng() % static_cast<std::uint32_t>(c.s));
    const auto b = static_cast<std::int32_t>(rng() % static_cast<std::uint32_t>(c.s));
    begin.push_back(t == 0 ? 0 : std::min(a, b));
    end.push_back(t == 0 ? static_cast<std::int32_t>(c.s - 1) : std::max(a, b));
  }
  eval.ints("first", begin).ints("last", end).run();
  check_kernel(g, eval, "y", seed);
}

TEST_CASE("attention: head widths around the vector widths") {
  std::uint32_t seed = 1;
  for (const DType cache : {f32, f16}) {
    for (const std::int64_t e :
         {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 64, 80, 127, 128}) {
      check_attention({.cache = cache,
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
    for (const std::int64_t s : {1, 2, 31, 32, 33, 64, 65, 131}) {
      for (const std::int64_t heads : {1, 3, 4, 5, 9}) {
        check_attention(
            {.cache = cache, .t = 7, .s = s, .heads = heads * 2, .groups = 2, .e = 24, .e_out = 24},
            ++seed);
      }
    }
  }
}

TEST_CASE("attention: many tokens") {
  check_attention({.cache = f16, .t = 64, .s = 100, .heads = 8, .groups = 2, .e = 32, .e_out = 32},
                  7);
}

TEST_CASE("attention: a token's bits do not depend on where its run lies in the cache") {
  for (const DType cache : {f32, f16}) {
    Graph g;
    const Tensor q = g.input("q", {f32, {2, 2, 20}});
    const Tensor k = g.state("k", {cache, {200, 1, 20}}), v = g.state("v", {cache, {200, 1, 20}});
    const Tensor first = g.input("first", {i32, {2}}), last = g.input("last", {i32, {2}});
    g.output("y", attention(q, k, v, first, last, {.scale = 0.2f}));
    const auto doubled = [&](std::size_t n, std::uint32_t seed) {
      const Floats half = noise(n, seed);
      Floats both = half;
      both.insert(both.end(), half.begin(), half.end());
      return both;
    };
    Evaluator eval(g);
    eval.floats("q", doubled(40, 1)).floats("k", doubled(2000, 2)).floats("v", doubled(2000, 3));
    eval.ints("first", {3, 103}).ints("last", {90, 190}).run();
    const Floats y = run_kernel(g, eval, "y");
    CHECK(Floats(y.begin(), y.begin() + 40) == Floats(y.begin() + 40, y.end()));
  }
}

// One token and one head over 40 cells with a key or a query changed.
Floats with(const char* path, std::size_t at, float value) {
  Graph g;
  const Tensor q = g.input("q", {f32, {1, 1, 8}});
  const Tensor k = g.state("k", {f32, {40, 1, 8}}), v = g.state("v", {f32, {40, 1, 8}});
  const Tensor first = g.input("first", {i32, {1}}), last = g.input("last", {i32, {1}});
  g.output("y", attention(q, k, v, first, last, {.scale = 1}));
  Evaluator eval(g);
  Floats qs(8, 1.0f), ks = noise(320, 1), vs = noise(320, 2);
  (path[0] == 'q' ? qs : path[0] == 'k' ? ks : vs)[at] = value;
  eval.floats("q", qs).floats("k", ks).floats("v", vs).ints("first", {0}).ints("last", {39}).run();
  return run_kernel(g, eval, "y");
}

TEST_CASE("attention: NaN goes through, a score of -inf is a weight of 0") {
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
