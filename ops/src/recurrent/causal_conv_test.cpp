#include "weft/ops/recurrent/causal_conv.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

// R = 4 rows of state.
Graph graph(std::int64_t n_tokens, std::int64_t width, std::int64_t taps, bool with_bias,
            const CausalConvAttrs& attrs = {}) {
  Graph g;
  const Tensor x = g.input("x", {f32, {n_tokens, width}}), w = g.weight("w", {f32, {width, taps}});
  const Tensor bias = with_bias ? g.weight("bias", {f32, {width}}) : Tensor{};
  const StateRows rows{g.state("state", {f32, {4, width, taps - 1}}),
                       g.input("from", {i32, {n_tokens}}), g.input("before", {i32, {n_tokens}}),
                       g.input("to", {i32, {n_tokens}})};
  const Tensor in[] = {x, w, bias, rows.state, rows.from, rows.before, rows.to};
  g.output("y", g.add(kCausalConv, in, attrs, std::source_location::current()));
  check(g);
  return g;
}

TEST_CASE("causal_conv: two sequences, zeros and a state before them, by hand") {
  const Graph g = graph(4, 2, 3, true);
  Evaluator eval(g, kPadded);
  eval.floats("w", {1, 10, 100, 2, 3, 4}).floats("bias", {0.5f, -1});
  eval.floats("x", {1, 1, 5, 5, 2, 2, 6, 6});
  eval.floats("state", {0, 0, 0, 0, 7, 8, 9, 10, 0, 0, 0, 0, 0, 0, 0, 0});
  // Tokens 0 and 2 are of a new sequence; 1 and 3 of one whose state is row 1. Row 2 keeps the new
  // one after its first token, row 3 the other one at its end.
  eval.ints("from", {-1, 1, -1, -1}).ints("before", {-1, -1, 0, 1}).ints("to", {2, -1, -1, 3});
  eval.run();
  CHECK(eval.floats("y") == Floats{100.5f, 3, 587.5f, 67, 210.5f, 10, 658.5f, 58});
  CHECK(eval.floats("state") == Floats{0, 0, 0, 0, 7, 8, 9, 10, 0, 1, 0, 1, 5, 6, 5, 6});
  CHECK(eval.bounds("state") == Floats(16, 0));
}

TEST_CASE("causal_conv: one step of all tokens equals steps of one token each") {
  constexpr std::int32_t kTokens = 9;
  constexpr std::int64_t kWidth = 5, kTaps = 4;
  const Floats w = noise(kWidth * kTaps, 1), x = noise(kTokens * kWidth, 2);
  const Graph all = graph(kTokens, kWidth, kTaps, false), one = graph(1, kWidth, kTaps, false);
  Evaluator together(all, kPadded), single(one, kPadded);
  std::vector<std::int32_t> before, to(kTokens, -1), from(kTokens, -1);
  for (std::int32_t t = 0; t < kTokens; ++t) before.push_back(t - 1);
  to.back() = kTokens % 2;
  together.floats("w", w).floats("x", x).ints("from", from).ints("before", before).ints("to", to);
  together.run();
  Floats y;
  single.floats("w", w).ints("before", {-1});
  for (std::int32_t t = 0; t < kTokens; ++t) {
    single.floats("x", std::span(x).subspan(static_cast<std::size_t>(t * kWidth), kWidth));
    single.ints("from", {t == 0 ? -1 : t % 2}).ints("to", {(t + 1) % 2}).run();
    for (const float value : single.floats("y")) y.push_back(value);
  }
  CHECK(together.floats("y") == y);
  const auto row = [](const Evaluator& eval) {
    const Floats state = eval.floats("state");
    return Floats(state.begin() + (kTokens % 2) * kWidth * (kTaps - 1),
                  state.begin() + (kTokens % 2 + 1) * kWidth * (kTaps - 1));
  };
  CHECK(row(together) == row(single));
}

TEST_CASE("causal_conv: plain f32 keeps within the bound, a tap too few does not") {
  constexpr std::int64_t kTokens = 20, kWidth = 6, kTaps = 4;
  const Graph g = graph(kTokens, kWidth, kTaps, true);
  const Floats w = noise(kWidth * kTaps, 1), x = noise(kTokens * kWidth, 2), b = noise(kWidth, 3);
  Evaluator eval(g, kPadded);
  std::vector<std::int32_t> before, none(kTokens, -1);
  for (std::int32_t t = 0; t < kTokens; ++t) before.push_back(t - 1);
  eval.floats("w", w).floats("x", x).floats("bias", b);
  eval.ints("from", none).ints("before", before).ints("to", none).run();
  Floats plain, wrong;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    for (std::int64_t c = 0; c < kWidth; ++c) {
      float sum = 0, short_sum = 0;
      for (std::int64_t j = 0; j < kTaps; ++j) {
        const std::int64_t at = t - (kTaps - 1) + j;
        const float product = at < 0 ? 0
                                     : w[static_cast<std::size_t>(c * kTaps + j)] *
                                           x[static_cast<std::size_t>(at * kWidth + c)];
        sum += product;
        if (j > 0) short_sum += product;
      }
      plain.push_back(sum + b[static_cast<std::size_t>(c)]);
      wrong.push_back(short_sum + b[static_cast<std::size_t>(c)]);
    }
  }
  check_close(plain, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(wrong, eval.floats("y"), eval.bounds("y")).excess > 1000);
  for (const float bound : eval.bounds("y")) CHECK(bound < 2e-6f);
}

TEST_CASE("causal_conv: with silu, equals silu of the plain form and keeps the same state") {
  const Graph plain = graph(4, 2, 3, true), activated = graph(4, 2, 3, true, {.silu = true});
  Evaluator a(plain, kPadded), b(activated, kPadded);
  for (Evaluator* eval : {&a, &b}) {
    eval->floats("w", noise(6, 1)).floats("bias", noise(2, 2)).floats("x", noise(8, 3));
    eval->floats("state", noise(16, 4));
    eval->ints("from", {1, -1, -1, -1}).ints("before", {-1, 0, 1, 2}).ints("to", {-1, 2, -1, 3});
    eval->run();
  }
  Floats want;
  for (const float y : a.floats("y")) want.push_back(y / (1 + std::exp(-y)));
  check_close(want, b.floats("y"), b.bounds("y"));
  CHECK(worst_of(a.floats("y"), b.floats("y"), b.bounds("y")).excess > 1000);
  for (const float bound : b.bounds("y")) CHECK(bound < 1e-5f);
  CHECK(b.floats("state") == a.floats("state"));
}

TEST_CASE("causal_conv: invalid arguments") {
  const TensorSpec x{f32, {3, 8}}, w{f32, {8, 4}}, state{f32, {5, 8, 3}}, ids{i32, {3}};
  CHECK(refusal(kCausalConv, {}, {x, w, {}, state, ids, ids, ids}) == "accepted");
  CHECK(refusal(kCausalConv, {}, {{f16, {3, 8}}, w, {}, state, ids, ids, ids}) ==
        "DTypeError: x must be F32, got F16");
  CHECK(refusal(kCausalConv, {}, {{f32, {3, 2, 4}}, w, {}, state, ids, ids, ids}) ==
        "ShapeError: x must be [T, C], got [3, 2, 4]");
  CHECK(refusal(kCausalConv, {}, {x, {f32, {8, 1}}, {}, state, ids, ids, ids}) ==
        "ShapeError: w must be [8, K], K >= 2, got [8, 1]");
  CHECK(refusal(kCausalConv, {}, {x, w, {f32, {4}}, state, ids, ids, ids}) ==
        "ShapeError: bias must be [8], got [4]");
  CHECK(refusal(kCausalConv, {}, {x, w, {}, {f32, {5, 3, 8}}, ids, ids, ids}) ==
        "ShapeError: state must be [R, 8, 3], got [5, 3, 8]");
  CHECK(refusal(kCausalConv, {}, {x, w, {}, state, {i32, {4}}, ids, ids}) ==
        "ShapeError: from must be [3], got [4]");
  CHECK(refusal(kCausalConv, {}, {x, w, {}, state, ids, {f32, {3}}, ids}) ==
        "DTypeError: before must be I32, got F32");
  CHECK(refusal(kCausalConv, {}, {x, w, {}, state, ids, ids, {i32, {2}}}) ==
        "ShapeError: to must be [3], got [2]");
}

}  // namespace
}  // namespace weft
