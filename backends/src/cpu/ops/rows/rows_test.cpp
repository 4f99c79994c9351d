// The ops that go over rows: norms, elementwise ops, rope, copies and conversions.

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "weft/ops/attention/bucket_distances.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/attention/cache_write.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/elementwise/silu_mul.h"
#include "weft/ops/formats/bf16.h"
#include "weft/ops/formats/format.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/norms/rms_norm_mul.h"
#include "weft/ops/positions/rope.h"
#include "weft/ops/positions/rope_angles.h"
#include "weft/ops/projections/quantize.h"
#include "weft/ops/rows/concat.h"
#include "weft/ops/rows/get_rows.h"

#include "cpu/kernel_test.h"

namespace weft::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// 1 .. 70 and the edges of larger multiples.
std::vector<std::int64_t> widths() {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 1; n <= 70; ++n) all.push_back(n);
  for (const std::int64_t n : {127, 128, 129, 257, 288}) all.push_back(n);
  return all;
}

Floats scaled_noise(std::int64_t n, std::uint32_t seed, float scale) {
  Floats values = noise(static_cast<std::size_t>(n), seed);
  for (float& v : values) v *= scale;
  return values;
}

TEST_CASE("elementwise ops: every width, same shapes and a vector along the last dimension") {
  std::uint32_t seed = 1;
  for (const std::int64_t d : widths()) {
    Graph g;
    const Tensor a = g.input("a", {f32, {3, 2, d}}), b = g.input("b", {f32, {3, 2, d}}),
                 w = g.weight("w", {f32, {d}});
    g.output("add", add(a, b));
    g.output("add_vector", add(a, w));
    g.output("mul", mul(a, b));
    g.output("mul_vector", mul(a, w));
    g.output("scale", scale(a, 0.3f));
    g.output("silu", silu(a));
    const Tensor pair[] = {a, b};
    g.output("silu_mul", g.add(kSiluMul, pair, {}, std::source_location::current()));
    Evaluator eval(g, kOddRows);
    eval.floats("a", scaled_noise(6 * d, ++seed, 20));
    eval.floats("b", noise(static_cast<std::size_t>(6 * d), ++seed));
    eval.floats("w", noise(static_cast<std::size_t>(d), ++seed)).run();
    for (const char* path : {"add", "add_vector", "mul", "mul_vector", "scale", "silu", "silu_mul"})
      check_kernel(g, eval, path, ++seed);
  }
}

TEST_CASE("add and mul: values that rows, heads or all elements share, every width") {
  std::uint32_t seed = 1;
  for (const std::int64_t d : widths()) {
    CAPTURE(d);
    Graph g;
    const Tensor a = g.input("a", {f32, {3, 4, d}}), rows = g.input("rows", {f32, {3, d}}),
                 elements = g.weight("elements", {f32, {4, d}}),
                 heads = g.weight("heads", {f32, {4, 1}}), one = g.weight("one", {f32, {1}});
    g.output("add_elements", add(a, elements));
    g.output("add_heads", add(a, heads));
    g.output("add_one", add(a, one));
    g.output("add_one_to_rows", add(rows, one));
    g.output("mul_elements", mul(a, elements));
    g.output("mul_heads", mul(a, heads));
    g.output("mul_one", mul(a, one));
    g.output("mul_one_to_rows", mul(rows, one));
    Evaluator eval(g, kOddRows);
    eval.floats("a", scaled_noise(12 * d, ++seed, 20));
    eval.floats("rows", scaled_noise(3 * d, ++seed, 20));
    eval.floats("elements", scaled_noise(4 * d, ++seed, 1));
    eval.floats("heads", noise(4, ++seed));
    eval.floats("one", noise(1, ++seed)).run();
    for (const char* path : {"add_elements", "add_heads", "add_one", "add_one_to_rows",
                             "mul_elements", "mul_heads", "mul_one", "mul_one_to_rows"})
      check_kernel(g, eval, path, ++seed);
  }
}

TEST_CASE("silu: the whole range, special values") {
  Floats x;
  for (float v = -110; v < 110; v += 0.37f) x.push_back(v);
  for (const float v :
       {0.0f, -0.0f, 1e-30f, -1e-30f, 1e-42f, 88.7f, -88.7f, -89.0f, -103.9f, 1e30f, kInf, kNaN})
    x.push_back(v);
  Graph g;
  g.output("y", silu(g.input("x", {f32, {static_cast<std::int64_t>(x.size())}})));
  Evaluator eval(g);
  eval.floats("x", x).run();
  check_kernel(g, eval, "y", 1);
}

TEST_CASE("rms_norm and rms_norm_mul: every width, heads, in place") {
  std::uint32_t seed = 1;
  for (const std::int64_t d : widths()) {
    Graph g;
    const Tensor x = g.input("x", {f32, {3, 2, d}}), w = g.weight("w", {f32, {d}});
    g.output("norm", rms_norm(x, 1e-5f));
    const Tensor in[] = {x, w};
    g.output("norm_mul",
             g.add(kRmsNormMul, in, RmsNormAttrs{1e-5f}, std::source_location::current()));
    Evaluator eval(g, kOddRows);
    eval.floats("x", scaled_noise(6 * d, ++seed, 30));
    eval.floats("w", noise(static_cast<std::size_t>(d), ++seed)).run();
    check_kernel(g, eval, "norm", seed);
    check_kernel(g, eval, "norm_mul", seed);
  }
}

TEST_CASE("rms_norm: NaN stays in its row, a row of zeros gives zeros") {
  Graph g;
  g.output("y", rms_norm(g.input("x", {f32, {3, 20}}), 1e-6f));
  Evaluator eval(g);
  Floats x = noise(60, 1);
  std::fill(x.begin(), x.begin() + 20, 0.0f);
  x[20 + 19] = kNaN;
  eval.floats("x", x).run();
  const Floats y = run_kernel(g, eval, "y");
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(y[i] == 0);
    CHECK(std::isnan(y[20 + i]));
    CHECK(std::isfinite(y[40 + i]));
  }
}

TEST_CASE("rms_norm: subnormal values and values whose squares overflow") {
  for (const float scale : {1e-42f, 1e-30f, 1e25f}) {
    Graph g;
    g.output("y", rms_norm(g.input("x", {f32, {2, 70}}), 1e-6f));
    Evaluator eval(g, kOddRows);
    eval.floats("x", scaled_noise(140, 1, scale)).run();
    if (scale < 1) {
      check_kernel(g, eval, "y", 1);
    } else {
      for (const float v : run_kernel(g, eval, "y")) CHECK(v == 0);
    }
  }
}

TEST_CASE("rope: both pairings, partial rotation, every even width") {
  std::uint32_t seed = 1;
  for (const RopePairs pairs : {RopePairs::adjacent, RopePairs::halves}) {
    for (std::int64_t r = 2; r <= 70; r += r < 40 ? 2 : 6) {
      for (const std::int64_t extra : {0, 5}) {
        Graph g;
        const Tensor x = g.input("x", {f32, {3, 3, r + extra}}), pos = g.input("pos", {i32, {3}});
        const Tensor angles =
            rope_angles(pos, {.n_rot = static_cast<std::int32_t>(r)}).named("angles");
        g.output("y", rope(x, angles, pairs));
        Evaluator eval(g, kOddRows);
        eval.floats("x", scaled_noise(9 * (r + extra), ++seed, 3)).ints("pos", {0, 5, 1000}).run();
        check_kernel(g, eval, "y", seed);
        check_kernel(g, eval, "angles", seed);
      }
    }
  }
}

TEST_CASE("cache_write: the bits of the definition, other cells unchanged") {
  std::uint32_t seed = 1;
  for (const DType cache : cache_types()) {
    for (const std::int64_t e : {1, 3, 8, 17, 32, 33, 64, 96}) {
      if (e % cache.block_elems() != 0) continue;
      CAPTURE(cache.name());
      CAPTURE(e);
      Graph g;
      const Tensor state = g.state("s", {cache, cache_shape(150, 2, e)}),
                   x = g.input("x", {f32, {5, 2, e}}), cells = g.input("cells", {i32, {5}});
      const Tensor written = cache_write(state, x, cells);
      g.output("y", written);
      Evaluator eval(g, kOddRows);
      eval.floats("s", noise(static_cast<std::size_t>(2 * 192 * e), ++seed));
      eval.ints("cells", {63, 0, -1, 149, 64});
      Floats values = scaled_noise(10 * e, ++seed, 300);
      eval.floats("x", values);
      const std::vector<std::byte> before = eval.bytes("s");
      eval.run();
      const std::vector<std::byte> expected = eval.bytes("y");
      eval.bytes("s", before);
      const std::vector<View> in = eval.inputs(written.id());
      for (const std::int64_t split : {std::int64_t{0}, 64 * e})  // two lanes, by heads
        run_on(g, g[written.id()], in, in[0], {0, 3, split, split + 64 * e});
      CHECK(eval.bytes("y") == expected);
    }
  }
}

// One cell of `x`, by the kernel and by the definition.
void check_written(DType cache, const Floats& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  Graph g;
  const Tensor written = cache_write(g.state("s", {cache, cache_shape(1, 1, n)}),
                                     g.input("x", {f32, {1, 1, n}}), g.input("cells", {i32, {1}}));
  g.output("y", written);
  Evaluator eval(g);
  eval.floats("x", x).ints("cells", {0}).run();
  const std::vector<std::byte> expected = eval.bytes("y");
  eval.bytes("s", std::vector<std::byte>(expected.size()));
  const std::vector<View> in = eval.inputs(written.id());
  run_on(g, g[written.id()], in, in[0], Region::whole(in[0]));
  CHECK(eval.bytes("y") == expected);
}

TEST_CASE("cache_write: quantized types at every magnitude, with ties, zeros and equal extremes") {
  std::uint32_t seed = 1;
  for (const DType cache : cache_types().subspan(2)) {
    CAPTURE(cache.name());
    for (const float scale : {1.0f, 1e-3f, 1e6f, 1e10f, 1e37f, 1e-7f, 1e-30f, 1e-38f, 1e-42f}) {
      CAPTURE(scale);
      check_written(cache, scaled_noise(32 * 40, ++seed, scale));
    }
    Floats ties;
    for (int i = 0; i < 32 * 8; ++i)  // multiples of half a code: d is a power of two
      ties.push_back((i % 32 == 0 ? 127.0f : static_cast<float>(i % 251 - 125) / 2) * 0x1p-6f);
    for (int i = 0; i < 32 * 8; ++i)
      ties.push_back((i % 32 == 5 ? -8.0f : static_cast<float>(i % 29 - 14) / 2) * 0x1p-3f);
    check_written(cache, ties);
    Floats special(32 * 4, 0.0f);
    special[40] = -0.0f;
    special[32] = -0.0f;
    special[70] = 3, special[71] = -3;   // the first of equal magnitude counts
    special[97] = -2, special[127] = 2;  // at the ends
    check_written(cache, special);
  }
}

TEST_CASE("cache_write: every kind of float becomes the right half") {
  Floats x{0.0f,    -0.0f,    1.0f,     65504.0f, 65519.0f, 65520.0f, -1e10f, 6.1035156e-5f,
           6.0e-5f, 5.96e-8f, 2.98e-8f, 2.99e-8f, 1e-20f,   kInf,     -kInf,  kNaN};
  std::mt19937 rng(1);
  while (x.size() < 4096) {
    const auto bits = static_cast<std::uint32_t>(rng());
    float v;
    std::memcpy(&v, &bits, 4);
    x.push_back(x.size() % 2 ? v
                             : static_cast<float>(static_cast<int>(bits % 200000) - 100000) / 1024);
  }
  check_written(f16, x);
}

TEST_CASE("get_rows: the exact values of every format, NaN for ids outside") {
  for (const Format* format : all_formats()) {
    const DType table = format->dtype;
    if (format->is_integer || table == q8a) continue;
    for (const std::int64_t n_blocks : {1, 2, 3, 33}) {
      CAPTURE(table.name());
      const std::int64_t d = n_blocks * table.block_elems();
      Graph g;
      g.output("y", get_rows(g.weight("table", {table, {5, d}}), g.input("ids", {i32, {6}})));
      Evaluator eval(g, kOddRows);
      eval.bytes("table", random_weights(table, 5, d, 3)).ints("ids", {4, 0, -1, 2, 5, 4}).run();
      check_kernel(g, eval, "y", 1);
    }
  }
}

TEST_CASE("get_rows: K ids for each token, rows of any width, cut anywhere") {
  std::uint32_t seed = 1;
  for (const DType table : {f32, f16, q8_0}) {
    for (const std::int64_t d : {1, 5, 32, 33, 96}) {
      if (d % table.block_elems() != 0) continue;
      CAPTURE(table.name());
      CAPTURE(d);
      Graph g;
      g.output("y", get_rows(g.weight("table", {table, {5, d}}), g.input("ids", {i32, {2, 4}})));
      Evaluator eval(g, kOddRows);
      eval.bytes("table", random_weights(table, 5, d, ++seed));
      eval.ints("ids", {4, 0, -1, 2, 5, 4, 1, 1}).run();
      check_kernel(g, eval, "y", seed);
    }
  }
}

TEST_CASE("bucket_distances: the rows of the definition, in every kind of table") {
  for (const DType table : {f32, f16, q8_0}) {
    for (const bool both_ways : {false, true}) {
      Graph g;
      g.output("y", bucket_distances(g.weight("table", {table, {32, 64}}),
                                     {.max_distance = 100, .both_ways = both_ways}));
      Evaluator eval(g, kOddRows);
      eval.bytes("table", random_weights(table, 32, 64, 7)).run();
      check_kernel(g, eval, "y", 1);
    }
  }
}

TEST_CASE("get_rows: every half float") {
  for (const DType table : {f16, bf16}) {
    Graph g;
    g.output("y", get_rows(g.weight("table", {table, {1, 65536}}), g.input("ids", {i32, {1}})));
    std::vector<std::byte> bytes(2 * 65536);
    for (std::size_t i = 0; i < 65536; ++i) {
      const auto half = static_cast<std::uint16_t>(i);
      std::memcpy(&bytes[2 * i], &half, 2);
    }
    Evaluator eval(g);
    eval.bytes("table", bytes).ints("ids", {0}).run();
    const Floats got = run_kernel(g, eval, "y"), expected = eval.floats("y");
    CHECK(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("quantize: the bits of the definition") {
  std::uint32_t seed = 1;
  for (const float scale :
       {1.0f, 1e-3f, 1e-22f, 1e-24f, 1e26f, 1e28f, 1e30f, 1e-38f, 3e-43f, 1e-44f, 0.0f}) {
    for (const std::int64_t n_blocks : {1, 2, 7, 100}) {
      CAPTURE(scale);
      Graph g;
      g.output("y", quantize(g.input("x", {f32, {3, 32 * n_blocks}})));
      Evaluator eval(g, kOddRows);
      eval.floats("x", scaled_noise(96 * n_blocks, ++seed, scale)).run();
      check_kernel(g, eval, "y", seed);
      CHECK(run_kernel(g, eval, "y") == eval.floats("y"));
    }
  }
}

TEST_CASE("quantize: ties round to even, all bytes as defined") {
  for (const float scale : {1.0f, 0x1p-60f, 0x1p-100f, 0x1p60f, 0x1p100f}) {
    CAPTURE(scale);
    Graph g;
    const Tensor y = quantize(g.input("x", {f32, {8, 32}}));
    g.output("y", y);
    Floats x;
    for (int i = 0; i < 256; ++i) x.push_back((i % 32 ? static_cast<float>(i) / 2 : -127) * scale);
    Evaluator eval(g);
    eval.floats("x", x).run();
    const std::vector<std::byte> expected = eval.bytes("y");
    const View out = eval.view(y.id());
    std::memset(out.data, 0, expected.size());
    const std::vector<View> in = eval.inputs(y.id());
    run_on(g, g[y.id()], in, out, Region::whole(out));
    CHECK(eval.bytes("y") == expected);
  }
}

TEST_CASE("quantize: a NaN or an infinity makes its block's scale one") {
  Graph g;
  const Tensor y = quantize(g.input("x", {f32, {1, 96}}));
  g.output("y", y);
  Evaluator eval(g);
  Floats x = noise(96, 1);
  eval.floats("x", x).run();
  float* in = eval.view(0).row<float>(0);
  in[33] = kNaN;
  in[95] = -kInf;
  const Floats got = run_kernel(g, eval, "y");
  for (std::size_t i = 0; i < 32; ++i) {
    CHECK(std::isfinite(got[i]));
    CHECK(std::isnan(got[32 + i]));
  }
  CHECK(std::isinf(got[95]));
}

TEST_CASE("concat: rows side by side, cut anywhere") {
  Graph g;
  const Tensor parts[] = {g.input("a", {f32, {3, 5}}), g.input("b", {f32, {3, 1}}),
                          g.input("c", {f32, {3, 18}})};
  g.output("y", concat(parts));
  Evaluator eval(g, kOddRows);
  eval.floats("a", noise(15, 1)).floats("b", noise(3, 2)).floats("c", noise(54, 3)).run();
  check_kernel(g, eval, "y", 5);
}

TEST_CASE("rows of kernels on floats name the best instruction set they have") {
  Graph g;
  const Tensor y = silu(g.input("x", {f32, {4}}));
  CHECK(cpu_backend().find(g, g[y.id()])->row ==
        "silu " + best_of({"avx512", "avx2", "sse2", "armv8"}));
}

}  // namespace
}  // namespace weft::test
