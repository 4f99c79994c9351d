#include "weft/ops/recurrent/gated_linear_attention.h"

#include "recurrent/recurrent_test.h"

namespace weft {
namespace {

using namespace test;

struct Sizes {
  std::int64_t T, H, G, N, P;
  bool decay_by_row = false, bonus = false;
};

// R = 3 rows of state.
Graph graph(const Sizes& s) {
  Graph g;
  const Tensor q = g.input("q", {f32, {s.T, s.G, s.N}}), k = g.input("k", {f32, {s.T, s.G, s.N}}),
               v = g.input("v", {f32, {s.T, s.H, s.P}});
  const Tensor decay =
      g.input("decay", {f32, s.decay_by_row ? Shape{s.T, s.H, s.N} : Shape{s.T, s.H}});
  const Tensor bonus = s.bonus ? g.weight("bonus", {f32, {s.H, s.N}}) : Tensor{};
  const StateRows rows{g.state("state", {f32, {3, s.H, s.N, s.P}}), g.input("from", {i32, {s.T}}),
                       g.input("before", {i32, {s.T}}), g.input("to", {i32, {s.T}})};
  g.output("y", gated_linear_attention(q, k, v, decay, bonus, rows));
  check(g);
  return g;
}

TEST_CASE("gated_linear_attention: two sequences by hand") {
  const Graph g = graph({3, 1, 1, 2, 2});
  Evaluator eval(g, kPadded);
  eval.floats("q", {1, 1, 1, 0, 0, 1}).floats("k", {1, 2, 1, 1, 3, 1});
  eval.floats("v", {1, 10, 2, 0, 1, 1}).floats("decay", {0.5f, 0.25f, 0.5f});
  eval.floats("state", {0, 0, 0, 0, 4, 8, 16, 32, 0, 0, 0, 0});
  // Tokens 0 and 2 are of a new sequence, token 1 of one whose state is row 1.
  eval.ints("from", {-1, 1, -1}).ints("before", {-1, -1, 0}).ints("to", {-1, 0, 2}).run();
  CHECK(eval.floats("y") == Floats{3, 30, 3, 2, 2, 11});
  CHECK(eval.floats("state") == Floats{3, 2, 6, 8, 4, 8, 16, 32, 3.5f, 8, 2, 11});
}

TEST_CASE("gated_linear_attention: groups, a decay per row and a bonus, by hand") {
  // Two heads of one group.
  Sizes sizes{1, 2, 1, 2, 1, true, true};
  const Graph g = graph(sizes);
  Evaluator eval(g, kPadded);
  eval.floats("q", {1, 10}).floats("k", {2, 3}).floats("v", {1, 5});
  eval.floats("decay", {0.5f, 0.25f, 1, 0}).floats("bonus", {1, 0, 2, 1});
  eval.floats("state", {8, 8, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0});
  eval.ints("from", {0}).ints("before", {-1}).ints("to", {2}).run();
  CHECK(eval.floats("y") == Floats{(8 + 2) + 10 * 8, (1 + 4 * 5) + 10 * (2 + 3 * 5)});
  CHECK(eval.floats("state") == Floats{8, 8, 1, 2, 0, 0, 0, 0, 4 + 2, 2 + 3, 1 + 10, 15});
}

// The noise of a step, with factors of decay in [0, 1).
void fill(Evaluator& eval, const Sizes& s, std::int64_t first, std::int64_t n) {
  const auto part = [&](std::int64_t width, std::uint32_t seed) {
    return token_noise(first, n, width, seed);
  };
  Floats decay = part(s.decay_by_row ? s.H * s.N : s.H, 4);
  for (float& d : decay) d = std::fabs(d);
  eval.floats("q", part(s.G * s.N, 1)).floats("k", part(s.G * s.N, 2));
  eval.floats("v", part(s.H * s.P, 3)).floats("decay", decay);
  if (s.bonus) eval.floats("bonus", noise(static_cast<std::size_t>(s.H * s.N), 5));
}

TEST_CASE("gated_linear_attention: one step of all tokens equals steps of one token each") {
  for (const bool bonus : {false, true}) {
    const Sizes s{7, 4, 2, 3, 5, bonus, bonus}, single{1, 4, 2, 3, 5, bonus, bonus};
    check_steps(graph(s), graph(single), [&](Evaluator& eval, std::int64_t first, std::int64_t n) {
      fill(eval, s, first, n);
    });
  }
}

struct Result {
  Floats y, state;
};

// One sequence from the state in row 0 on, in f32; `lost` tokens are not added to S.
Result in_floats(const Evaluator& eval, const Sizes& s, std::int64_t lost = -1) {
  const Floats q = eval.floats("q"), k = eval.floats("k"), v = eval.floats("v"),
               decay = eval.floats("decay");
  Result r{Floats(v.size()), eval.floats("state")};
  for (std::int64_t t = 0; t < s.T; ++t) {
    for (std::int64_t h = 0; h < s.H; ++h) {
      for (std::int64_t i = 0; i < s.N; ++i) {
        const auto at = static_cast<std::size_t>((t * s.G + h / (s.H / s.G)) * s.N + i);
        const float factor = decay[static_cast<std::size_t>(t * s.H + h)];
        for (std::int64_t j = 0; j < s.P; ++j) {
          const auto out = static_cast<std::size_t>((t * s.H + h) * s.P + j);
          float& cell = r.state[static_cast<std::size_t>((h * s.N + i) * s.P + j)];
          cell = cell * factor;
          if (t != lost) cell += k[at] * v[out];
          r.y[out] += q[at] * cell;
        }
      }
    }
  }
  return r;
}

TEST_CASE("gated_linear_attention: plain f32 keeps within the bounds, a lost token does not") {
  const Sizes s{30, 4, 2, 8, 6};
  const Graph g = graph(s);
  Evaluator eval(g, kPadded);
  fill(eval, s, 0, s.T);
  Floats state = noise(3 * 4 * 8 * 6, 9);
  std::vector<std::int32_t> before, from(30, -1), to(30, -1);
  for (std::int32_t t = 0; t < 30; ++t) before.push_back(t - 1);
  from[0] = 0, to[29] = 1;
  eval.floats("state", state).ints("from", from).ints("before", before).ints("to", to);
  const Result plain = in_floats(eval, s), wrong = in_floats(eval, s, 28);
  eval.run();
  check_close(plain.y, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(wrong.y, eval.floats("y"), eval.bounds("y")).excess > 1000);
  for (const float b : eval.bounds("y")) CHECK(b < 1e-5f);
  const auto row = [](const Floats& all, std::ptrdiff_t r) {
    return Floats(all.begin() + r * 192, all.begin() + (r + 1) * 192);
  };
  const Floats bounds = eval.bounds("state");
  check_close(row(plain.state, 0), row(eval.floats("state"), 1), row(bounds, 1));
  CHECK(worst_of(row(wrong.state, 0), row(eval.floats("state"), 1), row(bounds, 1)).excess > 1000);
  CHECK(row(bounds, 0) == Floats(192, 0));
  CHECK(row(bounds, 2) == Floats(192, 0));
}

TEST_CASE("gated_linear_attention: invalid arguments") {
  const TensorSpec q{f32, {3, 2, 4}}, v{f32, {3, 6, 5}}, decay{f32, {3, 6}},
      state{f32, {9, 6, 4, 5}}, ids{i32, {3}};
  const auto text = [&](TensorSpec q_, TensorSpec k_, TensorSpec decay_, TensorSpec bonus_,
                        TensorSpec state_) {
    return refusal(kGatedLinearAttention, {}, {q_, k_, v, decay_, bonus_, state_, ids, ids, ids});
  };
  CHECK(text(q, q, decay, {}, state) == "accepted");
  CHECK(text(q, {f32, {3, 6, 4}}, {f32, {3, 6, 4}}, {f32, {6, 4}}, state) == "accepted");
  CHECK(text({f32, {3, 4, 4}}, q, decay, {}, state) ==
        "ShapeError: q must be [T, G, N], G a divisor of 6, got [3, 4, 4]");
  CHECK(text(q, {f32, {3, 2, 5}}, decay, {}, state) ==
        "ShapeError: k must be [T, G, 4], G a divisor of 6, got [3, 2, 5]");
  CHECK(text(q, q, {f32, {3, 2}}, {}, state) ==
        "ShapeError: decay must be [3, 6] or [3, 6, 4], got [3, 2]");
  CHECK(text(q, q, decay, {f32, {4, 6}}, state) == "ShapeError: bonus must be [6, 4], got [4, 6]");
  CHECK(text(q, q, decay, {}, {f32, {9, 6, 5, 4}}) ==
        "ShapeError: state must be [R, 6, 4, 5], got [9, 6, 5, 4]");
}

}  // namespace
}  // namespace weft
