#include "weft/ops/recurrent/recurrence.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

Graph graph(std::int64_t n_tokens, std::int64_t width) {
  Graph g;
  const Tensor a = g.input("a", {f32, {n_tokens, width}}),
               x = g.input("x", {f32, {n_tokens, width}});
  const Tensor state = g.state("state", {f32, {3, width}});
  g.output("y", recurrence(a, x, state, g.input("from", {i32, {n_tokens}}),
                           g.input("before", {i32, {n_tokens}})));
  return g;
}

TEST_CASE("recurrence: continues from zero, from a state and from earlier tokens, by hand") {
  const Graph g = graph(4, 2);
  Evaluator eval(g, kPadded);
  eval.floats("a", {2, 3, 0.5f, 1, -1, 2, 10, 10}).floats("x", {1, 1, 2, 2, 3, 3, 4, 4});
  eval.floats("state", {9, 9, 100, 200, 9, 9});
  // Tokens 0 and 2 are of one sequence, which is new; 1 and 3 of one whose state is row 1.
  eval.ints("from", {-1, 1, -1, -1}).ints("before", {-1, -1, 0, 1}).run();
  CHECK(eval.floats("y") == Floats{1, 1, 52, 202, 2, 5, 524, 2024});
}

TEST_CASE("recurrence: products and sums in plain f32 keep within the bound") {
  constexpr std::int64_t kTokens = 50;
  const Graph g = graph(kTokens, 8);
  Evaluator eval(g, kPadded);
  const Floats a = noise(kTokens * 8, 1), x = noise(kTokens * 8, 2), state = noise(24, 3);
  std::vector<std::int32_t> from(kTokens, -1), before;
  from[0] = 2;
  for (std::int32_t t = 0; t < kTokens; ++t) before.push_back(t - 1);
  eval.floats("a", a).floats("x", x).floats("state", state);
  eval.ints("from", from).ints("before", before).run();
  Floats y(a.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float product = a[i] * (i < 8 ? state[16 + i] : y[i - 8]);
    y[i] = product + x[i];
  }
  check_close(y, eval.floats("y"), eval.bounds("y"));
  for (const float b : eval.bounds("y")) CHECK(b < 1e-5f);
}

TEST_CASE("recurrence: invalid arguments") {
  const TensorSpec a{f32, {3, 8}}, state{f32, {5, 8}}, ids{i32, {3}};
  CHECK(refusal(kRecurrence, {}, {{f16, {3, 8}}, a, state, ids, ids}) ==
        "DTypeError: a must be F32, got F16");
  CHECK(refusal(kRecurrence, {}, {{f32, {8}}, a, state, ids, ids}) ==
        "ShapeError: a must be [T, ..], got [8]");
  CHECK(refusal(kRecurrence, {}, {a, {f32, {3, 4}}, state, ids, ids}) ==
        "ShapeError: x must be [3, 8], got [3, 4]");
  CHECK(refusal(kRecurrence, {}, {a, a, {f32, {5, 2, 4}}, ids, ids}) ==
        "ShapeError: state must be [R, ..] like [3, 8], got [5, 2, 4]");
  CHECK(refusal(kRecurrence, {}, {a, a, state, {i32, {4}}, ids}) ==
        "ShapeError: from must be [3], got [4]");
  CHECK(refusal(kRecurrence, {}, {a, a, state, ids, {f32, {3}}}) ==
        "DTypeError: before must be I32, got F32");
}

}  // namespace
}  // namespace weft
