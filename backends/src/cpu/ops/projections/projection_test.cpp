// linear, linear_concat and gated_linear over all types of activations and weights.

#include <limits>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "weft/ops/formats/bf16.h"
#include "weft/ops/formats/iq1_m.h"
#include "weft/ops/formats/iq1_s.h"
#include "weft/ops/formats/iq2_s.h"
#include "weft/ops/formats/iq2_xs.h"
#include "weft/ops/formats/iq2_xxs.h"
#include "weft/ops/formats/iq3_s.h"
#include "weft/ops/formats/iq3_xxs.h"
#include "weft/ops/formats/iq4_nl.h"
#include "weft/ops/formats/iq4_xs.h"
#include "weft/ops/formats/mxfp4.h"
#include "weft/ops/formats/nf4.h"
#include "weft/ops/formats/numbers.h"
#include "weft/ops/formats/nvfp4.h"
#include "weft/ops/formats/q1_0.h"
#include "weft/ops/formats/q2_0.h"
#include "weft/ops/formats/q2_k.h"
#include "weft/ops/formats/q3_k.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q4_1.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q5_0.h"
#include "weft/ops/formats/q5_1.h"
#include "weft/ops/formats/q5_k.h"
#include "weft/ops/formats/q6_k.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8_1.h"
#include "weft/ops/formats/q8_k.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/formats/tq1_0.h"
#include "weft/ops/formats/tq2_0.h"
#include "weft/ops/projections/gated_linear.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/projections/linear_concat.h"
#include "weft/ops/projections/quantize.h"
#include "weft/ops/rows/views.h"

#include "cpu/isa.h"
#include "cpu/kernel_test.h"
#include "cpu/panels.h"
#include "cpu/weight_formats.h"

namespace weft::test {
namespace {

constexpr DType kScalars[] = {f32, f16, bf16};
constexpr DType kBlocks[] = {q4_0,   q4_1,    q5_0,  q5_1,  q8_0,   q2_k,   q3_k,  q4_k,    q5_k,
                             q6_k,   tq2_0,   mxfp4, nvfp4, iq4_nl, iq4_xs, iq3_s, iq3_xxs, iq2_s,
                             iq2_xs, iq2_xxs, iq1_m, iq1_s, tq1_0,  q2_0,   q1_0};
// Formats of blocks that are multiplied as floats: the first by kernels of its own.
constexpr DType kFloatBlocks[] = {nf4, f64, q8_1, q8_k};

struct Case {
  DType weights;
  bool integer = false;  // Q8A activations
  std::int64_t t = 1, k = 1, n = 1;
  bool bias = false, residual = false;
};

std::string check_linear(const Case& c, std::uint32_t seed) {
  CAPTURE(c.weights.name());
  CAPTURE(c.t);
  CAPTURE(c.k);
  CAPTURE(c.n);
  Graph g;
  Tensor x = g.input("x", {f32, {c.t, c.k}});
  if (c.integer) x = quantize(x);
  const Tensor w = g.weight("w", {c.weights, {c.n, c.k}});
  const Tensor b = c.bias ? g.weight("b", {f32, {c.n}}) : Tensor();
  const Tensor r = c.residual ? g.input("r", {f32, {c.t, c.n}}) : Tensor();
  const Tensor in[] = {x, w, b, r};
  g.output("y", g.add(kLinear, in, {}, std::source_location::current()));
  Evaluator eval(g, kOddRows);
  eval.floats("x", noise(static_cast<std::size_t>(c.t * c.k), seed));
  eval.bytes("w", random_weights(c.weights, c.n, c.k, seed + 1));
  if (c.bias) eval.floats("b", noise(static_cast<std::size_t>(c.n), seed + 2));
  if (c.residual) eval.floats("r", noise(static_cast<std::size_t>(c.t * c.n), seed + 3));
  eval.run();
  return check_kernel(g, eval, "y", seed);
}

TEST_CASE("linear: scalar weights, every K around the vector widths, primes and pieces") {
  std::uint32_t seed = 1;
  for (const DType w : kScalars) {
    for (std::int64_t k = 1; k <= 35; ++k)
      check_linear({.weights = w, .t = 1 + k % 3, .k = k, .n = 1 + k % 6}, ++seed);
    for (const std::int64_t k : {47, 48, 49, 63, 64, 65, 97, 511, 512, 513, 1031}) {
      check_linear({.weights = w, .t = 7, .k = k, .n = 9, .bias = true, .residual = true}, ++seed);
    }
  }
}

TEST_CASE("linear: quantized weights with float and integer activations") {
  std::uint32_t seed = 1000;
  for (const DType w : kBlocks) {
    const std::int64_t block = w.block_elems();
    for (const bool integer : {false, true}) {
      for (const std::int64_t n_blocks : {1, 2, 3, 5}) {
        for (const std::int64_t t : {1, 2, 3, 7}) {
          check_linear({.weights = w,
                        .integer = integer,
                        .t = t,
                        .k = n_blocks * block,
                        .n = 4 * t + n_blocks - 3,
                        .bias = t == 2,
                        .residual = t == 7},
                       ++seed);
        }
      }
    }
  }
}

TEST_CASE("linear: blocks that are multiplied as floats") {
  std::uint32_t seed = 2000;
  for (const DType w : kFloatBlocks) {
    CHECK(cpu::find_weight_row(w, features_under_test()));
    CHECK_FALSE(cpu::has_integer_row(w));
    for (const std::int64_t n_blocks : {1, 3, 5}) {
      check_linear({.weights = w,
                    .t = 2 * n_blocks - 1,
                    .k = n_blocks * w.block_elems(),
                    .n = 7 + n_blocks,
                    .bias = n_blocks == 3},
                   ++seed);
    }
  }
  CHECK_FALSE(cpu::find_weight_row(i32, features_under_test()));
  CHECK_FALSE(cpu::find_weight_row(q8a, features_under_test()));
}

// Types of `plain` in panels that the instruction set under test has rows for.
std::vector<DType> panel_types(std::span<const DType> plain, bool integer) {
  std::vector<DType> types;
  for (const DType type : plain) {
    if (cpu::has_panel_row(integer ? q8a : f32, type, features_under_test()))
      types.push_back(cpu::panels_of(type));
  }
  return types;
}

TEST_CASE("linear: there are rows for weights in panels") {
  CHECK(panel_types(kScalars, false).size() == 3);
  CHECK(panel_types(kBlocks, true).size() == (tests(least_fused()) ? 18 : 0));
}

TEST_CASE(
    "linear: weights in panels, every number of tokens up to two tiles, rows that fill no panel") {
  std::uint32_t seed = 3000;
  for (const bool integer : {false, true}) {
    for (const DType w : integer ? panel_types(kBlocks, true) : panel_types(kScalars, false)) {
      const std::int64_t block = integer ? w.block_elems() : 61;
      for (std::int64_t t = 1; t <= 26; ++t) {
        check_linear({.weights = w,
                      .integer = integer,
                      .t = t,
                      .k = block * (1 + t % 3),
                      .n = 16 + 5 * t,
                      .bias = t % 3 == 0,
                      .residual = t % 4 == 1},
                     ++seed);
      }
      // Several pieces of K, several blocks of columns.
      check_linear({.weights = w, .integer = integer, .t = 3, .k = 4352, .n = 32}, ++seed);
      check_linear({.weights = w, .integer = integer, .t = 50, .k = 4352, .n = 48}, ++seed);
      check_linear({.weights = w, .integer = integer, .t = 40, .k = 2 * block, .n = 300}, ++seed);
      check_linear({.weights = w, .integer = integer, .t = 515, .k = block, .n = 16}, ++seed);
    }
  }
}

TEST_CASE("linear: many tokens and many columns") {
  std::uint32_t seed = 2000;
  for (const DType w : kScalars) check_linear({.weights = w, .t = 64, .k = 67, .n = 37}, ++seed);
  for (const DType w : kBlocks) {
    for (const bool integer : {false, true}) {
      check_linear({.weights = w,
                    .integer = integer,
                    .t = 65,
                    .k = 2 * w.block_elems(),
                    .n = 71,
                    .residual = true},
                   ++seed);
    }
  }
}

TEST_CASE("linear: the bits of a token do not depend on how many there are") {
  std::vector<DType> types(std::begin(kBlocks), std::end(kBlocks));
  types.insert(types.end(), std::begin(kScalars), std::end(kScalars));
  types.push_back(nf4);
  for (const bool integer : {false, true}) {
    const auto panels = integer ? panel_types(kBlocks, true) : panel_types(kScalars, false);
    types.insert(types.end(), panels.begin(), panels.end());
  }
  for (const DType w : types) {
    for (const bool integer : {false, true}) {
      if (cpu::in_panels(w) ? integer != w.is_quantized() : integer && !cpu::has_integer_row(w))
        continue;
      const std::int64_t k = w.is_quantized() ? 2 * w.block_elems() : 300, n = 19;
      const auto y_of = [&](std::int64_t t) {
        Graph g;
        const Tensor x = g.input("x", {f32, {t, k}});
        g.output("y", linear(integer ? quantize(x) : x, g.weight("w", {w, {n, k}})));
        Evaluator eval(g);
        Floats values = noise(static_cast<std::size_t>(64 * k), 5);
        values.resize(static_cast<std::size_t>(t * k));
        eval.floats("x", values).bytes("w", random_weights(w, n, k, 6)).run();
        return run_kernel(g, eval, "y");
      };
      const Floats many = y_of(64);
      for (const std::int64_t t : {1, 2, 3, 4, 5, 33}) {
        CAPTURE(t);
        CAPTURE(w.name());
        CHECK(y_of(t) == Floats(many.begin(), many.begin() + t * n));
      }
    }
  }
}

TEST_CASE("linear: weights may start at any even address") {
  // The copies of check_kernel end at a page, so rows start anywhere; here the first one does, too.
  for (const DType w : kBlocks) {
    for (const std::int64_t n : {1, 3, 5})
      check_linear({.weights = w, .integer = true, .t = 5, .k = w.block_elems(), .n = n}, 77);
  }
}

TEST_CASE("linear: reads a slice of a wider tensor") {
  Graph g;
  const Tensor x = slice(g.input("x", {f32, {3, 100}}), 3, 40);
  g.output("y", linear(x, g.weight("w", {f16, {6, 37}})));
  Evaluator eval(g, kOddRows);
  eval.floats("x", noise(300, 1)).bytes("w", random_weights(f16, 6, 37, 2)).run();
  check_kernel(g, eval, "y", 3);
}

// `plain`, and its panels if there is a row for them.
std::vector<DType> with_panels(DType plain) {
  std::vector<DType> types = panel_types({&plain, 1}, true);
  types.push_back(plain);
  return types;
}

TEST_CASE("linear: extreme codes are exact") {
  for (const DType w : kBlocks) {
    for (const int byte : {0x00, 0x7f, 0x80, 0xff}) {
      CAPTURE(w.name());
      CAPTURE(byte);
      const std::int64_t k = w.block_elems(), n = 17;
      std::vector<std::byte> weights = random_weights(w, n, k, 1);
      const std::size_t size = static_cast<std::size_t>(w.block_bytes()),
                        scale_at = w == q6_k    ? 208
                                   : w == tq1_0 ? 52
                                   : w == tq2_0 ? 64
                                                : 0;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const std::size_t at = i % size;
        const bool scale = w == q4_k    ? at < 4
                           : w == iq1_m ? at >= 48 && at % 2 == 1
                                        : at == scale_at || at == scale_at + 1;
        if (!scale) weights[i] = static_cast<std::byte>(byte);
      }
      Floats x(static_cast<std::size_t>(2 * k), 1.0f);  // all codes 127, then all -127
      std::fill(x.begin() + k, x.end(), -1.0f);
      for (const DType type : with_panels(w)) {
        Graph g;
        g.output("y", linear(quantize(g.input("x", {f32, {2, k}})), g.weight("w", {type, {n, k}})));
        std::vector<std::byte> bytes = weights;
        if (cpu::in_panels(type))
          type.layout()->pack(type, weights.data(), bytes.data(), n, type.bytes(k), 0, n);
        Evaluator eval(g);
        eval.floats("x", x).bytes("w", bytes).run();
        check_kernel(g, eval, "y", 1);
      }
    }
  }
}

TEST_CASE(
    "linear: NaN and infinity in an activation reach every output of its token and no other") {
  for (const DType w : {f32, q4_0, q4_k, q6_k}) {
    for (const bool integer : {false, true}) {
      if (integer && w == f32) continue;
      for (const float bad :
           {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        CAPTURE(w.name());
        Graph g;
        const Tensor x = g.input("x", {f32, {3, 256}});
        const Tensor xq = integer ? quantize(x) : x;
        g.output("y", linear(xq, g.weight("w", {w, {6, 256}})));
        Evaluator eval(g);
        Floats values = noise(3 * 256, 1);
        eval.floats("x", values).bytes("w", random_weights(w, 6, 256, 2)).run();
        if (integer) {
          const float d = bad;  // the scale that the quantize kernel computes for it
          std::memcpy(eval.view(xq.id()).row<std::byte>(1) + q8a.block_bytes(), &d, 4);
        } else {
          eval.view(x.id()).row<float>(1)[77] = bad;
        }
        const Floats y = run_kernel(g, eval, "y");
        for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isfinite(y[i]) == (i / 6 != 1));
      }
    }
  }
}

TEST_CASE("linear_concat: parts of different formats, cut anywhere") {
  for (const bool bias : {false, true}) {
    for (const bool integer : {false, true}) {
      Graph g;
      const Tensor x = g.input("x", {f32, {5, 256}});
      std::vector<Tensor> in{integer ? quantize(x) : x};
      const DType types[] = {q4_k, integer ? q4_0 : f16, q6_k};
      const std::int64_t widths[] = {37, 5, 18};
      for (int i = 0; i < 3; ++i)
        in.push_back(g.weight(fmt::format("w{}", i), {types[i], {widths[i], 256}}));
      for (int i = 0; bias && i < 3; ++i)
        in.push_back(g.weight(fmt::format("b{}", i), {f32, {widths[i]}}));
      g.output("y", g.add(kLinearConcat, in, LinearConcatAttrs{.count = 3, .has_bias = bias},
                          std::source_location::current()));
      Evaluator eval(g, kOddRows);
      eval.floats("x", noise(5 * 256, 1));
      for (int i = 0; i < 3; ++i) {
        eval.bytes(fmt::format("w{}", i),
                   random_weights(types[i], widths[i], 256, 10u + static_cast<unsigned>(i)));
        if (bias)
          eval.floats(fmt::format("b{}", i),
                      noise(static_cast<std::size_t>(widths[i]), 20u + static_cast<unsigned>(i)));
      }
      eval.run();
      const std::string row = check_kernel(g, eval, "y", 4);
      CHECK(row.starts_with(integer ? "linear_concat q8a x q4_k+q4_0+q6_k "
                                    : "linear_concat f32 x q4_k+f16+q6_k "));
    }
  }
}

TEST_CASE("gated_linear: equals its definition, also if gate and up differ in format") {
  std::uint32_t seed = 0;
  for (const std::int64_t t : {1, 3, 35}) {
    for (const bool integer : {false, true}) {
      const std::int64_t n = 67;
      Graph g;
      const Tensor x = g.input("x", {f32, {t, 256}});
      const DType up_type = t == 3 ? q6_k : q4_0;
      const Tensor in[] = {integer ? quantize(x) : x, g.weight("gate", {q4_0, {n, 256}}),
                           g.weight("up", {up_type, {n, 256}})};
      g.output("y", g.add(kGatedLinear, in, GatedLinearAttrs{}, std::source_location::current()));
      Evaluator eval(g, kOddRows);
      eval.floats("x", noise(static_cast<std::size_t>(t * 256), ++seed));
      eval.bytes("gate", random_weights(q4_0, n, 256, ++seed));
      eval.bytes("up", random_weights(up_type, n, 256, ++seed)).run();
      check_kernel(g, eval, "y", seed);
    }
  }
}

TEST_CASE("the row's name says op, types and instruction set") {
  CHECK(check_linear({.weights = q4_k, .integer = true, .t = 1, .k = 256, .n = 4}, 1) ==
        "linear q8a x q4_k " + best_of({"avx512vnni", "avx512", "avxvnni", "avx2", "sse2",
                                        "neon_i8mm", "neon", "armv8"}));
  CHECK(check_linear({.weights = q8_0, .t = 1, .k = 32, .n = 4}, 1) ==
        "linear f32 x q8_0 " + best_of({"avx512vnni", "avx512", "avxvnni", "avx2", "sse2",
                                        "neon_i8mm", "neon", "armv8"}));
  CHECK(check_linear({.weights = f16, .t = 1, .k = 32, .n = 4}, 1) ==
        "linear f32 x f16 " + best_of({"avx512", "avx2", "sse2", "armv8"}));
  CHECK(check_linear({.weights = iq3_s, .integer = true, .t = 1, .k = 256, .n = 4}, 1) ==
        "linear q8a x iq3_s " + best_of({"avx512vbmi", "avx512vnni", "avx512", "avx2", "sse2",
                                         "neon_i8mm", "neon", "armv8"}));
}

}  // namespace
}  // namespace weft::test
