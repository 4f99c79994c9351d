#include "weft/ops/recurrent/selective_scan.h"

#include "recurrent/recurrent_test.h"

namespace weft {
namespace {

using namespace test;

struct Sizes {
  std::int64_t T, I, N;
};

// R = 3 rows of state.
Graph graph(const Sizes& s) {
  Graph g;
  const Tensor x = g.input("x", {f32, {s.T, s.I}}), dt = g.input("dt", {f32, {s.T, s.I}}),
               a = g.weight("a", {f32, {s.I, s.N}}), b = g.input("b", {f32, {s.T, s.N}}),
               c = g.input("c", {f32, {s.T, s.N}});
  const StateRows rows{g.state("state", {f32, {3, s.I, s.N}}), g.input("from", {i32, {s.T}}),
                       g.input("before", {i32, {s.T}}), g.input("to", {i32, {s.T}})};
  g.output("y", selective_scan(x, dt, a, b, c, rows));
  check(g);
  return g;
}

TEST_CASE("selective_scan: two sequences by hand") {
  const Graph g = graph({3, 2, 2});
  Evaluator eval(g, kPadded);
  const float half = -0.6931471805599453f;
  eval.floats("a", {0, half, half, half});
  eval.floats("x", {1, 2, 3, 1, 1, 0}).floats("dt", {1, 1, 2, 1, 1, 2});
  eval.floats("b", {1, 2, 1, 0, 0, 1}).floats("c", {1, 1, 1, 0, 2, 1});
  eval.floats("state", {0, 0, 0, 0, 4, 8, 16, 32, 0, 0, 0, 0});
  // Tokens 0 and 2 are of a new sequence, token 1 of one whose state is row 1.
  eval.ints("from", {-1, 1, -1}).ints("before", {-1, -1, 0}).ints("to", {-1, 0, 2}).run();
  const Floats y{3, 6, 10, 9, 4, 2}, state{10, 2, 9, 16, 4, 8, 16, 32, 1, 2, 0.5f, 1};
  check_close(eval.floats("y"), y, Floats(6, 1e-5f));
  check_close(eval.floats("state"), state, Floats(12, 1e-5f));
}

// The noise of a step; dt positive and a negative, as in models.
void fill(Evaluator& eval, const Sizes& s, std::int64_t first, std::int64_t n) {
  const auto part = [&](std::int64_t width, std::uint32_t seed) {
    return token_noise(first, n, width, seed);
  };
  Floats dt = part(s.I, 4), a = noise(static_cast<std::size_t>(s.I * s.N), 5);
  for (float& value : dt) value = std::fabs(value);
  for (float& value : a) value = -4 * std::fabs(value);
  eval.floats("x", part(s.I, 1)).floats("dt", dt).floats("a", a);
  eval.floats("b", part(s.N, 2)).floats("c", part(s.N, 3));
}

TEST_CASE("selective_scan: one step of all tokens equals steps of one token each") {
  const Sizes s{7, 5, 4}, single{1, 5, 4};
  check_steps(graph(s), graph(single), [&](Evaluator& eval, std::int64_t first, std::int64_t n) {
    fill(eval, s, first, n);
  });
}

struct Result {
  Floats y, state;
};

// One sequence from the state in row 0 on, in f32, with a decay of exp(dt * a) + off.
Result in_floats(const Evaluator& eval, const Sizes& s, float off = 0) {
  const Floats x = eval.floats("x"), dt = eval.floats("dt"), a = eval.floats("a"),
               b = eval.floats("b"), c = eval.floats("c");
  Result r{Floats(x.size()), eval.floats("state")};
  for (std::int64_t t = 0; t < s.T; ++t) {
    for (std::int64_t i = 0; i < s.I; ++i) {
      const auto at = static_cast<std::size_t>(t * s.I + i);
      for (std::int64_t n = 0; n < s.N; ++n) {
        const auto cell = static_cast<std::size_t>(i * s.N + n);
        const auto row = static_cast<std::size_t>(t * s.N + n);
        const float decay = std::exp(dt[at] * a[cell]) + off;
        r.state[cell] = decay * r.state[cell] + dt[at] * x[at] * b[row];
        r.y[at] += c[row] * r.state[cell];
      }
    }
  }
  return r;
}

TEST_CASE("selective_scan: plain f32 keeps within the bounds, a decay that is off does not") {
  const Sizes s{30, 5, 8};
  const Graph g = graph(s);
  Evaluator eval(g, kPadded);
  fill(eval, s, 0, s.T);
  std::vector<std::int32_t> before, from(30, -1), to(30, -1);
  for (std::int32_t t = 0; t < 30; ++t) before.push_back(t - 1);
  from[0] = 0, to[29] = 1;
  eval.floats("state", noise(3 * 40, 9));
  eval.ints("from", from).ints("before", before).ints("to", to);
  const Result plain = in_floats(eval, s), wrong = in_floats(eval, s, 1e-3f);
  eval.run();
  check_close(plain.y, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(wrong.y, eval.floats("y"), eval.bounds("y")).excess > 100);
  for (const float b : eval.bounds("y")) CHECK(b < 2e-4f);
  const auto row = [](const Floats& all, std::ptrdiff_t r) {
    return Floats(all.begin() + r * 40, all.begin() + (r + 1) * 40);
  };
  const Floats bounds = eval.bounds("state");
  check_close(row(plain.state, 0), row(eval.floats("state"), 1), row(bounds, 1));
  CHECK(worst_of(row(wrong.state, 0), row(eval.floats("state"), 1), row(bounds, 1)).excess > 100);
  CHECK(row(bounds, 0) == Floats(40, 0));
}

TEST_CASE("selective_scan: invalid arguments") {
  const TensorSpec x{f32, {3, 6}}, a{f32, {6, 4}}, b{f32, {3, 4}}, state{f32, {9, 6, 4}},
      ids{i32, {3}};
  CHECK(refusal(kSelectiveScan, {}, {x, x, a, b, b, state, ids, ids, ids}) == "accepted");
  CHECK(refusal(kSelectiveScan, {}, {x, {f32, {3, 1}}, a, b, b, state, ids, ids, ids}) ==
        "ShapeError: dt must be [3, 6], got [3, 1]");
  CHECK(refusal(kSelectiveScan, {}, {x, x, {f32, {4, 6}}, b, b, state, ids, ids, ids}) ==
        "ShapeError: a must be [6, N], got [4, 6]");
  CHECK(refusal(kSelectiveScan, {}, {x, x, a, b, {f32, {3, 5}}, state, ids, ids, ids}) ==
        "ShapeError: c must be [3, 4], got [3, 5]");
  CHECK(refusal(kSelectiveScan, {}, {x, x, a, b, b, {f32, {9, 4, 6}}, ids, ids, ids}) ==
        "ShapeError: state must be [R, 6, 4], got [9, 4, 6]");
}

}  // namespace
}  // namespace weft
