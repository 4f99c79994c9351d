// Activations, and the ops that combine, move or choose elements of rows and heads.

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "weft/ops/attention/attention_temperature.h"
#include "weft/ops/attention/dot_heads.h"
#include "weft/ops/elementwise/clamp.h"
#include "weft/ops/elementwise/exp.h"
#include "weft/ops/elementwise/gelu.h"
#include "weft/ops/elementwise/gelu_erf.h"
#include "weft/ops/elementwise/lerp.h"
#include "weft/ops/elementwise/relu.h"
#include "weft/ops/elementwise/sigmoid.h"
#include "weft/ops/elementwise/softplus.h"
#include "weft/ops/elementwise/sqrt.h"
#include "weft/ops/elementwise/tanh.h"
#include "weft/ops/elementwise/xielu.h"
#include "weft/ops/ids/gaussian_top_k.h"
#include "weft/ops/ids/top_k.h"
#include "weft/ops/norms/layer_norm.h"
#include "weft/ops/norms/normalize_sum.h"
#include "weft/ops/norms/softmax.h"
#include "weft/ops/norms/stream_weights.h"
#include "weft/ops/rows/concat_heads.h"
#include "weft/ops/rows/gather.h"
#include "weft/ops/rows/hadamard.h"
#include "weft/ops/rows/pad_heads.h"
#include "weft/ops/rows/repeat_heads.h"
#include "weft/ops/rows/scale_heads.h"
#include "weft/ops/rows/slice_heads.h"
#include "weft/ops/rows/weighted_sum.h"

#include "cpu/kernel_test.h"

namespace weft::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr const char* kActivations[] = {"exp",      "gelu", "gelu_erf", "relu",  "sigmoid",
                                        "softplus", "sqrt", "tanh",     "xielu", "clamp"};

// 1 .. 35 and the edges of larger multiples.
std::vector<std::int64_t> widths() {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 1; n <= 35; ++n) all.push_back(n);
  for (const std::int64_t n : {63, 64, 65, 127, 128, 129, 257, 768}) all.push_back(n);
  return all;
}

Floats scaled_noise(std::int64_t n, std::uint32_t seed, float scale) {
  Floats values = noise(static_cast<std::size_t>(n), seed);
  for (float& v : values) v *= scale;
  return values;
}

void add_activations(Graph& g, Tensor x) {
  g.output("exp", exp(x));
  g.output("gelu", gelu(x));
  g.output("gelu_erf", gelu_erf(x));
  g.output("relu", relu(x));
  g.output("sigmoid", sigmoid(x));
  g.output("softplus", softplus(x));
  g.output("sqrt", sqrt(x));
  g.output("tanh", tanh(x));
  g.output("xielu", xielu(x, {.positive = 0.8f, .negative = 0.6f, .beta = 0.5f, .limit = -1e-6f}));
  g.output("clamp", clamp(x, -0.5f, 0.75f));
}

TEST_CASE("activations: every width") {
  std::uint32_t seed = 1;
  for (const std::int64_t d : widths()) {
    Graph g;
    add_activations(g, g.input("x", {f32, {3, 2, d}}));
    Evaluator eval(g, kOddRows);
    eval.floats("x", scaled_noise(6 * d, ++seed, 4)).run();
    for (const char* path : kActivations) check_kernel(g, eval, path, ++seed);
  }
}

TEST_CASE("activations: the whole range, fine steps near zero, special values") {
  Floats x;
  for (float v = -110; v < 110; v += 0.037f) x.push_back(v);
  for (float v = -1; v < 1; v += 0.00037f) x.push_back(v);
  for (float v = 1e-38f; v < 1; v *= 1.7f) {
    x.push_back(v);
    x.push_back(-v);
  }
  for (const float v :
       {0.0f, -0.0f, 1e-42f, 88.7f, -88.7f, -89.0f, -103.9f, 1e13f, -1e13f, 1e30f, -1e30f, kInf})
    x.push_back(v);
  Graph g;
  add_activations(g, g.input("x", {f32, {static_cast<std::int64_t>(x.size())}}));
  Evaluator eval(g);
  eval.floats("x", x).run();
  for (const char* path : kActivations) {
    CAPTURE(path);
    check_kernel(g, eval, path, 1);
  }
}

TEST_CASE("activations: NaN stays NaN, minus infinity goes to the limit") {
  Graph g;
  add_activations(g, g.input("x", {f32, {20}}));
  Evaluator eval(g);
  Floats x(20, 1.0f);
  x[3] = x[18] = kNaN;
  x[4] = x[19] = -kInf;
  eval.floats("x", x).run();
  for (const char* path : kActivations) {
    CAPTURE(path);
    const Floats y = run_kernel(g, eval, path), expected = eval.floats(path);
    for (std::size_t i = 0; i < y.size(); ++i) {
      CHECK(std::isnan(y[i]) == std::isnan(expected[i]));
      if (i == 4 || i == 19) CHECK((y[i] == expected[i] || std::isnan(y[i])));
    }
  }
}

TEST_CASE("xielu: parameters of either sign, a limit in the range, little besides exp - 1") {
  Floats x = scaled_noise(300, 1, 6);
  for (float v = 1e-38f; v < 1; v *= 1.3f) x.push_back(-v);
  for (const XieluAttrs& attrs : {XieluAttrs{-2, 3, 0, 4}, XieluAttrs{1e-3f, -0.1f, -0.5f, -2},
                                  XieluAttrs{0, 1, 1, 0}, XieluAttrs{1, 0, 0, -1e-6f}}) {
    Graph g;
    g.output("y", xielu(g.input("x", {f32, {std::ssize(x)}}), attrs));
    Evaluator eval(g);
    eval.floats("x", x).run();
    check_kernel(g, eval, "y", 1);
  }
}

TEST_CASE("hadamard: every kind of part, and the bits of sums in the order of the op") {
  std::uint32_t seed = 1;
  for (const std::int64_t e : {1, 2, 3, 4, 8, 12, 16, 31, 32, 40, 64, 80, 96, 128, 200, 256, 576}) {
    CAPTURE(e);
    Graph g;
    g.output("y", hadamard(g.input("x", {f32, {3, 5, e}})));
    Evaluator eval(g, kOddRows);
    Floats x = scaled_noise(15 * e, ++seed, 3);
    eval.floats("x", x).run();
    check_kernel(g, eval, "y", seed);
    for (std::int64_t at = 0, n = 0; at < 15 * e; at += n) {
      n = hadamard_part(e - at % e);
      float* const part = x.data() + at;
      for (std::int64_t d = 1; d < n; d *= 2) {
        for (std::int64_t i = 0; i < n; ++i) {
          if (i & d) continue;
          const float a = part[i], b = part[i + d];
          part[i] = a + b, part[i + d] = a - b;
        }
      }
      const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(n)));
      for (std::int64_t i = 0; i < n; ++i) part[i] *= factor;
    }
    CHECK(run_kernel(g, eval, "y") == x);
  }
}

TEST_CASE("layer_norm, softmax and normalize_sum: every width, heads") {
  std::uint32_t seed = 1;
  for (const std::int64_t d : widths()) {
    Graph g;
    const Tensor x = g.input("x", {f32, {3, 2, d}}), p = g.input("p", {f32, {3, 2, d}});
    g.output("norm", layer_norm(x, 1e-5f));
    g.output("softmax", softmax(x));
    g.output("sum", normalize_sum(p));
    Evaluator eval(g, kOddRows);
    eval.floats("x", scaled_noise(6 * d, ++seed, 30));
    Floats positive = noise(static_cast<std::size_t>(6 * d), ++seed);
    for (float& v : positive) v = std::fabs(v);
    eval.floats("p", positive).run();
    for (const char* path : {"norm", "softmax", "sum"}) check_kernel(g, eval, path, ++seed);
  }
}

TEST_CASE("layer_norm: a mean far from zero, a row of one value") {
  for (const float mean : {100.0f, -3000.0f}) {
    Graph g;
    g.output("y", layer_norm(g.input("x", {f32, {2, 200}}), 1e-5f));
    Evaluator eval(g, kOddRows);
    Floats x = noise(400, 3);
    for (float& v : x) v += mean;
    std::fill(x.begin() + 200, x.end(), 0.5f);
    eval.floats("x", x).run();
    check_kernel(g, eval, "y", 1);
    const Floats y = run_kernel(g, eval, "y");
    CHECK(y[200] == 0);
  }
}

TEST_CASE("gaussian_top_k: every width, heads, deviations of either sign") {
  std::uint32_t seed = 1;
  for (const std::int64_t d : widths()) {
    if (d < 2) continue;
    Graph g;
    const Tensor x = g.input("x", {f32, {3, 2, d}});
    g.output("few", gaussian_top_k(x, 1.6f));
    g.output("many", gaussian_top_k(x, -0.7f));
    Evaluator eval(g, kOddRows);
    eval.floats("x", scaled_noise(6 * d, ++seed, 5)).run();
    for (const char* path : {"few", "many"}) check_kernel(g, eval, path, ++seed);
    Floats noisy = scaled_noise(6 * d, ++seed, 5);
    noisy[0] = kNaN;
    eval.floats("x", noisy).run();
    for (const float y : run_kernel(g, eval, "many")) CHECK((std::isnan(y) || y >= 0));
    CHECK(std::isnan(run_kernel(g, eval, "many")[0]));
  }
}

TEST_CASE("softmax: values that differ by more than exp holds, and a row of one value") {
  Graph g;
  g.output("y", softmax(g.input("x", {f32, {3, 37}})));
  Evaluator eval(g, kOddRows);
  Floats x = scaled_noise(111, 5, 500);
  std::fill(x.begin() + 37, x.begin() + 74, -1e30f);
  eval.floats("x", x).run();
  check_kernel(g, eval, "y", 1);
}

TEST_CASE("normalize_sum: sums below the minimum are replaced by it") {
  Graph g;
  g.output("y", normalize_sum(g.input("x", {f32, {2, 8}}), {.min = 0.5f}));
  Evaluator eval(g, kOddRows);
  Floats x(16, 0.001f);
  x[15] = 4;
  eval.floats("x", x).run();
  check_kernel(g, eval, "y", 1);
  CHECK(run_kernel(g, eval, "y")[0] == 0.002f);
}

TEST_CASE("stream_weights: every number of streams, with and without writing") {
  std::uint32_t seed = 1;
  for (std::int32_t n = 1; n <= kMaxStreams; ++n) {
    for (const std::int64_t width : {std::int64_t{n}, std::int64_t{n} * (n + 2)}) {
      Graph g;
      g.output("y", stream_weights(g.input("x", {f32, {5, width}}),
                                   g.weight("scale", {f32, {width == n ? 1 : 3}}),
                                   g.weight("base", {f32, {width}}), {.n = n, .iterations = 4}));
      Evaluator eval(g, kOddRows);
      eval.floats("x", scaled_noise(5 * width, ++seed, 4))
          .floats("base", scaled_noise(width, 2, 2));
      eval.floats("scale", Floats(width == n ? 1 : 3, 1.5f)).run();
      check_kernel(g, eval, "y", ++seed);
    }
  }
}

TEST_CASE("weighted_sum: every width, cut anywhere") {
  std::uint32_t seed = 1;
  for (const std::int64_t d : widths()) {
    for (const std::int64_t k : {1, 3, 8}) {
      Graph g;
      const Tensor x = g.input("x", {f32, {3, k, d}}), w = g.input("w", {f32, {3, k}});
      g.output("y", weighted_sum(x, w));
      Evaluator eval(g, kOddRows);
      eval.floats("x", noise(static_cast<std::size_t>(3 * k * d), ++seed));
      eval.floats("w", noise(static_cast<std::size_t>(3 * k), ++seed)).run();
      check_kernel(g, eval, "y", seed);
    }
  }
}

TEST_CASE("lerp: weights like a, of heads, of all rows, several ways for one head") {
  std::uint32_t seed = 1;
  for (const std::int64_t d : widths()) {
    Graph g;
    const TensorSpec heads{f32, {3, 2, d}}, rows{f32, {3, d}}, one{f32, {3, 1, d}};
    const Tensor a = g.input("a", heads), b = g.input("b", heads), c = g.input("c", rows),
                 e = g.input("e", rows), p = g.input("p", one), q = g.input("q", one),
                 w = g.input("w", heads), by_head = g.weight("by_head", {f32, {2, d}}),
                 shared = g.weight("shared", {f32, {d}});
    g.output("same", lerp(a, b, w));
    g.output("heads", lerp(a, b, by_head));
    g.output("all", lerp(a, b, shared));
    g.output("rows", lerp(c, e, shared));
    g.output("rows_same", lerp(c, e, c));
    g.output("ways", lerp(p, q, by_head));
    g.output("ways_of_rows", lerp(p, q, w));
    Evaluator eval(g, kOddRows);
    for (const char* input : {"a", "b", "w"}) eval.floats(input, scaled_noise(6 * d, ++seed, 3));
    for (const char* input : {"c", "e", "p", "q"})
      eval.floats(input, scaled_noise(3 * d, ++seed, 3));
    eval.floats("by_head", scaled_noise(2 * d, ++seed, 1)).floats("shared", scaled_noise(d, 1, 1));
    eval.run();
    for (const char* path : {"same", "heads", "all", "rows", "rows_same", "ways", "ways_of_rows"})
      check_kernel(g, eval, path, ++seed);
  }
}

TEST_CASE("attention_temperature: positions on both sides of the steps") {
  std::uint32_t seed = 1;
  for (const std::int64_t e : {1, 5, 33}) {
    Graph g;
    const Tensor x = g.input("x", {f32, {5, 2, e}}), pos = g.input("pos", {i32, {5}});
    g.output("y", attention_temperature(x, pos, {.scale = 0.1f, .length = 8192, .offset = 1}));
    g.output("falling", attention_temperature(x, pos, {.scale = -0.3f, .length = 7}));
    Evaluator eval(g, kOddRows);
    eval.floats("x", scaled_noise(10 * e, ++seed, 3));
    eval.ints("pos", {0, 8190, 8191, 100000, INT32_MAX}).run();
    for (const char* path : {"y", "falling"}) check_kernel(g, eval, path, ++seed);
  }
}

TEST_CASE("heads that are joined, multiplied, repeated, cut, padded and scaled: any widths") {
  std::uint32_t seed = 1;
  for (const std::int64_t e : {2, 5, 16, 33, 64}) {
    Graph g;
    const Tensor a = g.input("a", {f32, {3, 4, e}}), b = g.input("b", {f32, {3, 4, 7}}),
                 c = g.input("c", {f32, {3, 2, e}}), one = g.input("one", {f32, {3, 1, 3}}),
                 f = g.input("f", {f32, {3, 4}});
    g.output("concat", concat_heads(a, b));
    g.output("concat_one", concat_heads(a, one));
    g.output("dot", dot_heads(a, repeat_heads(c, 4).named("repeat")));
    g.output("slice", slice_heads(a, 1, e));
    g.output("pad", pad_heads(a, e + 6));
    g.output("scale", scale_heads(a, f));
    Evaluator eval(g, kOddRows);
    eval.floats("a", noise(static_cast<std::size_t>(12 * e), ++seed)).floats("b", noise(84, 1));
    eval.floats("c", noise(static_cast<std::size_t>(6 * e), ++seed));
    eval.floats("one", noise(9, 2)).floats("f", noise(12, 3)).run();
    for (const char* path : {"concat", "concat_one", "dot", "repeat", "slice", "pad", "scale"})
      check_kernel(g, eval, path, ++seed);
  }
}

// The kernel's ids, which must be those of the definition.
void check_top_k(const TopKAttrs& attrs, std::int64_t n, const Floats& scores,
                 const Floats& bias = {}) {
  CAPTURE(n);
  CAPTURE(attrs.k);
  CAPTURE(attrs.used_groups);
  const auto rows = static_cast<std::int64_t>(scores.size()) / n;
  Graph g;
  const Tensor x = g.input("x", {f32, {rows, n}});
  const Tensor b = bias.empty() ? Tensor() : g.weight("b", {f32, {n}});
  const Tensor ids = top_k(x, attrs, b);
  g.output("ids", ids);
  g.output("chosen", gather(x, ids));
  Evaluator eval(g, kOddRows);
  eval.floats("x", scores);
  if (!bias.empty()) eval.floats("b", bias);
  eval.run();
  check_kernel(g, eval, "chosen", 1);
  const std::vector<std::byte> expected = eval.bytes("ids");
  const View out = eval.view(ids.id());
  for (std::int64_t r = 0; r < rows; ++r) std::fill_n(out.row<std::int32_t>(r), attrs.k, -7);
  std::vector<float> scratch(static_cast<std::size_t>(4 * n + 64));
  run_on(g, g[ids.id()], eval.inputs(ids.id()), out, Region::whole(out),
         std::as_writable_bytes(std::span(scratch)));
  CHECK(eval.bytes("ids") == expected);
}

TEST_CASE("top_k and gather: the ids of the definition, with ties, NaN, groups and a bias") {
  std::uint32_t seed = 1;
  for (const std::int64_t n : {1, 2, 5, 8, 60, 128}) {
    for (std::int32_t k = 1; k <= n && k <= 9; k += 2) {
      Floats scores = noise(static_cast<std::size_t>(7 * n), ++seed);
      check_top_k({.k = k}, n, scores);
      check_top_k({.k = k}, n, scores, noise(static_cast<std::size_t>(n), ++seed));
      for (float& v : scores) v = std::round(v * 3);  // many equal
      check_top_k({.k = k}, n, scores);
      for (std::size_t i = 0; i < scores.size(); i += 3) scores[i] = i % 2 ? kNaN : -kInf;
      check_top_k({.k = k}, n, scores);
    }
  }
  for (const std::int32_t used : {1, 2, 4, 8}) {
    Floats scores = noise(5 * 64, ++seed);
    check_top_k({.k = 6, .n_groups = 8, .used_groups = used}, 64, scores);
    for (float& v : scores) v = std::round(v * 2);
    check_top_k({.k = 6, .n_groups = 8, .used_groups = used}, 64, scores, noise(64, ++seed));
    check_top_k({.k = 1, .n_groups = 64, .used_groups = used}, 64, scores);
  }
}

TEST_CASE("gather: from a vector, NaN for ids outside") {
  Graph g;
  g.output("y", gather(g.weight("x", {f32, {5}}), g.input("ids", {i32, {2, 3}})));
  Evaluator eval(g, kOddRows);
  eval.floats("x", {1, 2, 3, 4, 5}).ints("ids", {4, 0, 5, -1, 2, 2}).run();
  const Floats y = run_kernel(g, eval, "y");
  CHECK((y[0] == 5 && y[1] == 1 && y[4] == 3 && y[5] == 3));
  CHECK((std::isnan(y[2]) && std::isnan(y[3])));
}

}  // namespace
}  // namespace weft::test
