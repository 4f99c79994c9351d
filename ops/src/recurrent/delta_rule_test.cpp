#include "weft/ops/recurrent/delta_rule.h"

#include "recurrent/recurrent_test.h"

namespace weft {
namespace {

using namespace test;

struct Sizes {
  std::int64_t T, H, N, P;
  bool decay_by_row = false;
};

// R = 3 rows of state.
Graph graph(const Sizes& s) {
  Graph g;
  const auto heads = [&](const char* name) { return g.input(name, {f32, {s.T, s.H, s.N}}); };
  const Shape decay = s.decay_by_row ? Shape{s.T, s.H, s.N} : Shape{s.T, s.H};
  const DeltaRuleInputs in{.q = heads("q"),
                           .k = heads("k"),
                           .v = g.input("v", {f32, {s.T, s.H, s.P}}),
                           .decay = g.input("decay", {f32, decay}),
                           .remove = heads("remove"),
                           .write = heads("write")};
  const StateRows rows{g.state("state", {f32, {3, s.H, s.N, s.P}}), g.input("from", {i32, {s.T}}),
                       g.input("before", {i32, {s.T}}), g.input("to", {i32, {s.T}})};
  g.output("y", delta_rule(in, rows));
  check(g);
  return g;
}

TEST_CASE("delta_rule: two sequences by hand") {
  const Graph g = graph({3, 1, 2, 2});
  Evaluator eval(g, kPadded);
  eval.floats("q", {1, 1, 1, 0, 0, 1}).floats("k", {1, 2, 1, 1, 3, 1});
  eval.floats("v", {1, 10, 2, 0, 1, 1}).floats("decay", {0.5f, 0.25f, 0.5f});
  eval.floats("remove", {5, 5, 1, 0.5f, 1, -1}).floats("write", {7, 7, -1, 0, 2, 3});
  eval.floats("state", {0, 0, 0, 0, 4, 8, 16, 32, 0, 0, 0, 0});
  // Tokens 0 and 2 are of a new sequence, token 1 of one whose state is row 1.
  eval.ints("from", {-1, 1, -1}).ints("before", {-1, -1, 0}).ints("to", {-1, 0, 2}).run();
  // Token 1: S is decayed to 1 2; 4 8. remove^T S = 12 24; write adds it -1 and 0 times.
  // Token 2: S was 1 10; 2 20. remove^T S = -1 -10.
  CHECK(eval.floats("y") == Floats{3, 30, -9, -22, 1 - 3 + 1, 10 - 30 + 1});
  CHECK(eval.floats("state") ==
        Floats{-9, -22, 6, 8, 4, 8, 16, 32, 0.5f - 2 + 3, 5 - 20 + 3, -1, -19});
}

TEST_CASE("delta_rule: a key written twice keeps the last value") {
  // Unit keys and beta = 1 replace the value that was stored under the key.
  const Graph g = graph({3, 1, 2, 1});
  Evaluator eval(g, kPadded);
  const Floats keys{0.6f, 0.8f, 0.6f, 0.8f, 0.6f, 0.8f},
      minus{-0.6f, -0.8f, -0.6f, -0.8f, -0.6f, -0.8f};
  eval.floats("q", keys).floats("k", keys).floats("remove", keys).floats("write", minus);
  eval.floats("v", {5, -7, 3}).floats("decay", {1, 1, 1});
  eval.ints("from", {-1, -1, -1}).ints("before", {-1, 0, 1}).ints("to", {-1, -1, 0}).run();
  check_close(eval.floats("y"), {5, -7, 3}, {1e-5f, 1e-5f, 1e-5f});
}

// The noise of a step, with factors of decay in [0, 1).
void fill(Evaluator& eval, const Sizes& s, std::int64_t first, std::int64_t n) {
  const auto part = [&](std::int64_t width, std::uint32_t seed) {
    return token_noise(first, n, width, seed);
  };
  Floats decay = part(s.decay_by_row ? s.H * s.N : s.H, 4);
  for (float& d : decay) d = std::fabs(d);
  Floats remove = part(s.H * s.N, 5), write = part(s.H * s.N, 6);
  for (float& value : remove) value *= 0.3f;
  eval.floats("q", part(s.H * s.N, 1)).floats("k", part(s.H * s.N, 2));
  eval.floats("v", part(s.H * s.P, 3)).floats("decay", decay);
  eval.floats("remove", remove).floats("write", write);
}

TEST_CASE("delta_rule: one step of all tokens equals steps of one token each") {
  for (const bool by_row : {false, true}) {
    const Sizes s{7, 3, 4, 5, by_row}, single{1, 3, 4, 5, by_row};
    check_steps(graph(s), graph(single), [&](Evaluator& eval, std::int64_t first, std::int64_t n) {
      fill(eval, s, first, n);
    });
  }
}

struct Result {
  Floats y, state;
};

// One sequence from the state in row 0 on, in f32. `swapped`: with remove and write exchanged.
Result in_floats(const Evaluator& eval, const Sizes& s, bool swapped = false) {
  const Floats q = eval.floats("q"), k = eval.floats("k"), v = eval.floats("v"),
               decay = eval.floats("decay"), remove = eval.floats(swapped ? "write" : "remove"),
               write = eval.floats(swapped ? "remove" : "write");
  Result r{Floats(v.size()), eval.floats("state")};
  const auto cell = [&](std::int64_t h, std::int64_t i, std::int64_t j) -> float& {
    return r.state[static_cast<std::size_t>((h * s.N + i) * s.P + j)];
  };
  for (std::int64_t t = 0; t < s.T; ++t) {
    for (std::int64_t h = 0; h < s.H; ++h) {
      for (std::int64_t j = 0; j < s.P; ++j) {
        const auto at = static_cast<std::size_t>((t * s.H + h) * s.N);
        const auto out = static_cast<std::size_t>((t * s.H + h) * s.P + j);
        float back = 0;
        for (std::int64_t i = 0; i < s.N; ++i)
          back += remove[at + static_cast<std::size_t>(i)] * cell(h, i, j);
        for (std::int64_t i = 0; i < s.N; ++i) {
          const std::size_t n = at + static_cast<std::size_t>(i);
          float& c = cell(h, i, j);
          c = c * decay[s.decay_by_row ? n : static_cast<std::size_t>(t * s.H + h)] +
              write[n] * back + k[n] * v[out];
          r.y[out] += q[n] * c;
        }
      }
    }
  }
  return r;
}

TEST_CASE("delta_rule: plain f32 keeps within the bounds, remove and write exchanged do not") {
  const Sizes s{12, 3, 4, 6, true};
  const Graph g = graph(s);
  Evaluator eval(g, kPadded);
  fill(eval, s, 0, s.T);
  std::vector<std::int32_t> before, from(12, -1), to(12, -1);
  for (std::int32_t t = 0; t < 12; ++t) before.push_back(t - 1);
  from[0] = 0, to[11] = 1;
  eval.floats("state", noise(3 * 3 * 4 * 6, 9));
  eval.ints("from", from).ints("before", before).ints("to", to);
  const Result plain = in_floats(eval, s), wrong = in_floats(eval, s, true);
  eval.run();
  check_close(plain.y, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(wrong.y, eval.floats("y"), eval.bounds("y")).excess > 1000);
  for (const float b : eval.bounds("y")) CHECK(b < 1e-4f);
  const auto row = [](const Floats& all, std::ptrdiff_t r) {
    return Floats(all.begin() + r * 72, all.begin() + (r + 1) * 72);
  };
  const Floats bounds = eval.bounds("state");
  check_close(row(plain.state, 0), row(eval.floats("state"), 1), row(bounds, 1));
  CHECK(worst_of(row(wrong.state, 0), row(eval.floats("state"), 1), row(bounds, 1)).excess > 1000);
  CHECK(row(bounds, 0) == Floats(72, 0));
  CHECK(row(bounds, 2) == Floats(72, 0));
}

TEST_CASE("delta_rule: invalid arguments") {
  const TensorSpec q{f32, {3, 6, 4}}, v{f32, {3, 6, 5}}, decay{f32, {3, 6}},
      state{f32, {9, 6, 4, 5}}, ids{i32, {3}};
  CHECK(refusal(kDeltaRule, {}, {q, q, v, decay, q, q, state, ids, ids, ids}) == "accepted");
  CHECK(refusal(kDeltaRule, {}, {{f32, {3, 2, 4}}, q, v, decay, q, q, state, ids, ids, ids}) ==
        "ShapeError: q must be [T, 6, N], got [3, 2, 4]");
  CHECK(refusal(kDeltaRule, {}, {q, q, v, decay, {f32, {3, 6, 5}}, q, state, ids, ids, ids}) ==
        "ShapeError: remove must be [3, 6, 4], got [3, 6, 5]");
  CHECK(refusal(kDeltaRule, {}, {q, q, v, {f32, {6}}, q, q, state, ids, ids, ids}) ==
        "ShapeError: decay must be [3, 6] or [3, 6, 4], got [6]");
  CHECK(refusal(kDeltaRule, {}, {q, q, v, decay, q, q, {f32, {9, 6, 20}}, ids, ids, ids}) ==
        "ShapeError: state must be [R, 6, 4, 5], got [9, 6, 20]");
}

}  // namespace
}  // namespace weft
