#include "weft/ops/recurrent/centred_conv.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

Graph graph(std::int64_t n_tokens, std::int64_t width, std::int64_t taps) {
  Graph g;
  g.output("y",
           centred_conv(g.input("x", {f32, {n_tokens, width}}), g.weight("w", {f32, {width, taps}}),
                        g.input("before", {i32, {n_tokens}})));
  check(g);
  return g;
}

TEST_CASE("centred_conv: two sequences by turns, by hand") {
  const Graph g = graph(5, 2, 3);
  Evaluator eval(g, kPadded);
  eval.floats("w", {1, 10, 100, 2, 3, 4});
  eval.floats("x", {1, 1, 5, 5, 2, 2, 6, 6, 3, 3});
  eval.ints("before", {-1, -1, 0, 1, 2}).run();
  CHECK(eval.floats("y") == Floats{210, 11, 650, 39, 321, 20, 65, 28, 32, 13});
}

TEST_CASE("centred_conv: plain f32 keeps within the bound, the wrong neighbour does not") {
  constexpr std::int32_t kTokens = 12;
  constexpr std::int64_t kWidth = 6, kTaps = 5;
  const Graph g = graph(kTokens, kWidth, kTaps);
  const Floats w = noise(kWidth * kTaps, 1), x = noise(kTokens * kWidth, 2);
  std::vector<std::int32_t> before;
  for (std::int32_t t = 0; t < kTokens; ++t) before.push_back(t - 1);
  Evaluator eval(g, kPadded);
  eval.floats("w", w).floats("x", x).ints("before", before).run();
  const auto sums = [&](std::int64_t middle) {
    Floats y;
    for (std::int64_t t = 0; t < kTokens; ++t) {
      for (std::int64_t c = 0; c < kWidth; ++c) {
        float sum = 0;
        for (std::int64_t j = 0; j < kTaps; ++j) {
          const std::int64_t at = t + j - middle;
          if (at < 0 || at >= kTokens) continue;
          sum += w[static_cast<std::size_t>(c * kTaps + j)] *
                 x[static_cast<std::size_t>(at * kWidth + c)];
        }
        y.push_back(sum);
      }
    }
    return y;
  };
  check_close(sums(kTaps / 2), eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(sums(kTaps - 1), eval.floats("y"), eval.bounds("y")).excess > 1000);
  for (const float bound : eval.bounds("y")) CHECK(bound < 2e-6f);
}

TEST_CASE("centred_conv: invalid arguments") {
  const TensorSpec x{f32, {3, 8}}, w{f32, {8, 3}}, ids{i32, {3}};
  CHECK(refusal(kCentredConv, {}, {x, w, ids}) == "accepted");
  CHECK(refusal(kCentredConv, {}, {{f16, {3, 8}}, w, ids}) == "DTypeError: x must be F32, got F16");
  CHECK(refusal(kCentredConv, {}, {{f32, {8}}, w, ids}) == "ShapeError: x must be [T, C], got [8]");
  CHECK(refusal(kCentredConv, {}, {x, {f32, {8, 4}}, ids}) ==
        "ShapeError: w must be [8, K], K odd, got [8, 4]");
  CHECK(refusal(kCentredConv, {}, {x, w, {f32, {3}}}) == "DTypeError: before must be I32, got F32");
  CHECK(refusal(kCentredConv, {}, {x, w, {i32, {4}}}) == "ShapeError: before must be [3], got [4]");
}

}  // namespace
}  // namespace weft
