// expert_linear and head_linear over all types of activations and weights.

#include "weft/ops/projections/expert_linear.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "weft/ops/formats/format.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/projections/head_linear.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/projections/quantize.h"

#include "cpu/kernel_test.h"
#include "cpu/panels.h"
#include "cpu/weight_formats.h"

namespace weft::test {
namespace {

using Ids = std::vector<std::int32_t>;

struct Case {
  DType weights;
  bool integer = false;  // Q8A activations
  std::int64_t t = 1, k = 1, x = 3, n = 16, d = 32;
  bool each = false;  // x [T, K, D]
  Ids ids = {};       // default: random
};

Ids ids_of(const Case& c, std::uint32_t seed) {
  if (!c.ids.empty()) return c.ids;
  Ids ids(static_cast<std::size_t>(c.t * c.k));
  std::mt19937 rng(seed);
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(rng() % static_cast<unsigned>(c.x));
  return ids;
}

// A graph with one expert_linear 'y', its activations as they are used, 'used', and its inputs.
struct Experts {
  Experts(const Case& c, std::uint32_t seed) : ids(ids_of(c, seed)), eval(build(c), kOddRows) {
    eval.floats("x", noise(static_cast<std::size_t>(c.t * c.d * (c.each ? c.k : 1)), seed));
    eval.bytes("w", random_weights(c.weights, c.x * c.n, c.d, seed + 1)).ints("ids", ids).run();
  }
  const Graph& build(const Case& c) {
    const Shape shape = c.each ? Shape{c.t, c.k, c.d} : Shape{c.t, c.d};
    Tensor x = g.input("x", {f32, shape});
    if (c.integer) x = quantize(x);
    g.output("used", x);
    const Tensor w = g.weight("w", {c.weights, {c.x, c.n, c.d}});
    g.output("y", expert_linear(x, w, g.input("ids", {i32, {c.t, c.k}})));
    return g;
  }

  Graph g;
  Ids ids;
  Evaluator eval;
};

// Checks the kernel, and that every choice has the bits of `linear` with the matrix of its expert.
std::string check_experts(const Case& c, std::uint32_t seed) {
  CAPTURE(c.weights.name());
  CAPTURE(c.integer);
  CAPTURE(c.t);
  CAPTURE(c.k);
  CAPTURE(c.n);
  CAPTURE(c.d);
  Experts experts(c, seed);
  const std::string row = check_kernel(experts.g, experts.eval, "y", seed);
  const Floats y = run_kernel(experts.g, experts.eval, "y");

  Graph g;
  const std::int64_t rows = c.each ? c.t * c.k : c.t;
  const Tensor x = g.input("x", {c.integer ? q8a : f32, {rows, c.d}});
  g.output("y", linear(x, g.weight("w", {c.weights, {c.n, c.d}})));
  Evaluator eval(g);
  eval.bytes("x", experts.eval.bytes("used"));
  const std::vector<std::byte> weights = random_weights(c.weights, c.x * c.n, c.d, seed + 1);
  const auto matrix = static_cast<std::size_t>(c.n * c.weights.bytes(c.d));
  const auto n = static_cast<std::size_t>(c.n);
  for (std::int32_t e = 0; e < c.x; ++e) {
    const auto from = weights.begin() + static_cast<std::ptrdiff_t>(e * std::ssize(weights) / c.x);
    eval.bytes("w", {from, from + static_cast<std::ptrdiff_t>(matrix)}).run();
    const Floats expected = run_kernel(g, eval, "y");
    for (std::size_t i = 0; i < experts.ids.size(); ++i) {
      if (experts.ids[i] != e) continue;
      const std::size_t r = c.each ? i : i / static_cast<std::size_t>(c.k);
      CHECK(Floats(&y[i * n], &y[i * n] + n) == Floats(&expected[r * n], &expected[r * n] + n));
    }
  }
  return row;
}

// All types of weights that a node with such activations can have, in the order of the formats.
std::vector<DType> weight_types(bool integer) {
  std::vector<DType> types;
  for (const Format* format : all_formats()) {
    const DType type = format->dtype;
    if (format->is_integer || type == q8a || (integer && !cpu::has_integer_row(type))) continue;
    if (!cpu::find_weight_row(type, features_under_test())) continue;
    types.push_back(type);
    const DType panels = cpu::panels_of(type);
    if (panels.valid() && cpu::has_panel_row(integer ? q8a : f32, type, features_under_test()))
      types.push_back(panels);
  }
  return types;
}

TEST_CASE("expert_linear: every type of weights, for one token, few and many") {
  std::uint32_t seed = 1;
  for (const bool integer : {false, true}) {
    for (const DType w : weight_types(integer)) {
      const std::int64_t d = std::max<std::int64_t>(64, w.block_elems());
      const std::int64_t n = cpu::in_panels(w) ? 48 : 21;
      for (const bool each : {false, true}) {
        check_experts({w, integer, 1, 2, 3, n, d, each}, ++seed);
        check_experts({w, integer, 7, 2, 3, n, d, each}, ++seed);
      }
      check_experts({w, integer, 40, 3, 4, n, d}, ++seed);
    }
  }
}

TEST_CASE("expert_linear: all tokens to one expert, to some experts, or twice to the same") {
  std::uint32_t seed = 100;
  for (const DType w : {f32, q8_0, q4_k}) {
    for (const bool each : {false, true}) {
      const bool integer = w != f32;
      Case c{w, integer, 33, 2, 5, 32, 256, each, {}};
      c.ids.assign(66, 3);
      check_experts(c, ++seed);
      for (std::size_t i = 0; i < c.ids.size(); ++i) c.ids[i] = i % 2 ? 4 : 1;
      check_experts(c, ++seed);
      for (std::size_t i = 0; i < c.ids.size(); ++i) c.ids[i] = i < 60 ? 0 : 2;
      check_experts(c, ++seed);
    }
  }
}

TEST_CASE("expert_linear: more tokens than a call of a kernel takes, and wide results") {
  check_experts({q8_0, true, 530, 2, 1, 16, 32}, 1);
  check_experts({f32, false, 300, 2, 2, 600, 8}, 2);
}

TEST_CASE("expert_linear: an id outside gives NaN for its choice alone") {
  for (const std::int64_t t : {1, 20}) {
    Case c{q8_0, true, t, 3, 4, 32, 64};
    for (std::int64_t i = 0; i < t * 3; ++i) c.ids.push_back(static_cast<std::int32_t>(i * 7 % 4));
    c.ids[1] = 4;
    c.ids[c.ids.size() - 1] = -1;
    Experts experts(c, 9);
    const Floats y = run_kernel(experts.g, experts.eval, "y");
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t choice = i / 32;
      CHECK(std::isnan(y[i]) == (choice == 1 || choice == c.ids.size() - 1));
    }
  }
}

TEST_CASE("expert_linear: of a part of the experts, those elsewhere give zeros") {
  std::uint32_t seed = 200;
  for (const DType w : {f32, q8_0}) {
    for (const std::int64_t t : {1, 20}) {
      Graph g;
      Tensor x = g.input("x", {f32, {t, 64}});
      if (w != f32) x = quantize(x);
      const Tensor ids = g.input("ids", {i32, {t, 3}});
      g.output("y", expert_linear(x, g.weight("w", {w, {2, 32, 64}}), ids, {.first = 3, .all = 6}));
      Evaluator eval(g, kOddRows);
      eval.floats("x", noise(static_cast<std::size_t>(t * 64), ++seed));
      Ids chosen;
      for (std::int64_t i = 0; i < t * 3; ++i) chosen.push_back(static_cast<std::int32_t>(i + 2));
      for (std::int32_t& id : chosen) id = id % 8 - 1;  // -1 .. 6
      eval.bytes("w", random_weights(w, 64, 64, ++seed)).ints("ids", chosen).run();
      const Floats y = run_kernel(g, eval, "y");
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::int32_t id = chosen[i / 32];
        CHECK(std::isnan(y[i]) == (id < 0 || id > 5));
        if (id >= 0 && id < 3) CHECK(y[i] == 0);
      }
      std::ranges::replace_if(
          chosen, [](std::int32_t id) { return id < 0 || id > 5; }, 4);
      eval.ints("ids", chosen).run();
      check_kernel(g, eval, "y", ++seed);
    }
  }
}

TEST_CASE("expert_linear: weights in panels need rows in whole panels") {
  for (const DType w : weight_types(true)) {
    if (!cpu::in_panels(w)) continue;
    for (const std::int64_t n : {40, 48}) {
      Graph g;
      const Tensor x = g.input("x", {q8a, {2, 256}}), ids = g.input("ids", {i32, {2, 2}});
      const Tensor y = expert_linear(x, g.weight("w", {w, {3, n, 256}}), ids);
      CHECK(cpu_backend().find(g, g[y.id()]).has_value() == (n == 48));
    }
  }
}

TEST_CASE("head_linear: every type of weights, cut anywhere") {
  std::uint32_t seed = 300;
  for (const DType w : weight_types(false)) {
    if (cpu::in_panels(w)) continue;
    for (const std::int64_t t : {1, 6, 35}) {
      CAPTURE(w.name());
      CAPTURE(t);
      const std::int64_t d = std::max<std::int64_t>(32, w.block_elems());
      Graph g;
      const Tensor x = g.input("x", {f32, {t, 3, d}});
      g.output("y", head_linear(x, g.weight("w", {w, {3, 21, d}})));
      Evaluator eval(g, kOddRows);
      eval.floats("x", noise(static_cast<std::size_t>(t * 3 * d), ++seed));
      eval.bytes("w", random_weights(w, 63, d, ++seed)).run();
      CHECK(check_kernel(g, eval, "y", seed).starts_with("head_linear f32 x "));
    }
  }
}

TEST_CASE("the row's name says expert_linear, types and instruction set") {
  CHECK(check_experts({q4_k, true, 2, 2, 3, 16, 256}, 1) ==
        "expert_linear q8a x q4_k " + best_of({"avx512vnni", "avx512", "avxvnni", "avx2", "sse2",
                                               "neon_i8mm", "neon", "armv8"}));
}

}  // namespace
}  // namespace weft::test
