#include "weft/ops/rows/pool_tokens.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

using Ints = std::vector<std::int32_t>;

Graph graph(std::int64_t n_tokens, std::int64_t width, const PoolTokensAttrs& attrs) {
  Graph g;
  const Shape row{n_tokens, width * attrs.parts};
  const Tensor x = g.input("x", {f32, row}), scores = g.input("scores", {f32, row}),
               pos = g.input("pos", {i32, {n_tokens}});
  const StateRows rows{g.state("state", {f32, {3, width, attrs.parts, 3}}),
                       g.input("from", {i32, {n_tokens}}), g.input("before", {i32, {n_tokens}}),
                       g.input("to", {i32, {n_tokens}})};
  g.output("y", pool_tokens(x, scores, pos, attrs, rows));
  return g;
}

// The tokens `first` .. of one sequence, one after the other; the last one's state goes to row 1.
Evaluator& set_sequence(Evaluator& eval, std::int32_t first, std::int32_t n_tokens,
                        std::int32_t from) {
  Ints pos, before, to(static_cast<std::size_t>(n_tokens), -1);
  for (std::int32_t t = 0; t < n_tokens; ++t) pos.push_back(first + t), before.push_back(t - 1);
  to.back() = 1;
  const Ints all_from(static_cast<std::size_t>(n_tokens), from);
  return eval.ints("pos", pos).ints("before", before).ints("to", to).ints("from", all_from);
}

TEST_CASE("pool_tokens: spans with equal scores are means, up to each token") {
  const Graph g = graph(5, 1, {.span = 3});
  Evaluator eval(g, kPadded);
  eval.floats("x", {3, 6, 9, 20, 40}).floats("scores", {1, 1, 1, -5, -5});
  set_sequence(eval, 0, 5, -1).run();
  CHECK(eval.floats("y") == Floats{3, 4.5f, 6, 20, 30});
  CHECK(eval.floats("state") == Floats{0, 0, 0, -5, 2, 60, 0, 0, 0});
}

TEST_CASE("pool_tokens: two parts, the first one in the next pool") {
  const Graph g = graph(4, 1, {.span = 2, .parts = 2});
  Evaluator eval(g, kPadded);
  eval.floats("x", {1, 10, 2, 20, 3, 30, 4, 40}).floats("scores", Floats(8));
  set_sequence(eval, 0, 4, -1).run();
  // Span 0 has second parts alone; span 1 the first parts of span 0 and its own second ones.
  CHECK(eval.floats("y") == Floats{10, 15, 11, 18.25f});
}

TEST_CASE("pool_tokens: scores weigh by their exponentials, each element on its own") {
  const Graph g = graph(2, 2, {.span = 2});
  Evaluator eval(g, kPadded);
  const float log3 = std::log(3.0f);
  eval.floats("x", {8, 8, 4, 4}).floats("scores", {100 + log3, -300, 100, -300 + log3});
  set_sequence(eval, 0, 2, -1).run();
  check_close({8, 8, 7, 5}, eval.floats("y"), {0, 0, 1e-4f, 1e-4f});
}

TEST_CASE("pool_tokens: any cut of a sequence into steps gives the same bits") {
  constexpr std::int64_t kTokens = 23, kWidth = 3;
  const PoolTokensAttrs attrs{.span = 4, .parts = 2};
  const Floats x = noise(kTokens * kWidth * 2, 1), scores = noise(kTokens * kWidth * 2, 2);
  const Graph whole = graph(kTokens, kWidth, attrs);
  Evaluator eval(whole, kPadded);
  eval.floats("x", x).floats("scores", scores);
  const Floats expected = set_sequence(eval, 0, kTokens, -1).run().floats("y");
  for (const std::int32_t cut : {1, 3, 4, 5, 8, 22}) {
    Floats got, state;
    for (const auto& [first, end] : {std::pair{0, cut}, {cut, int{kTokens}}}) {
      const Graph g = graph(end - first, kWidth, attrs);
      Evaluator part(g, kPadded);
      const auto rows = [&](const Floats& all) {
        return Floats(all.begin() + first * kWidth * 2, all.begin() + end * kWidth * 2);
      };
      part.floats("x", rows(x)).floats("scores", rows(scores));
      if (!state.empty()) {  // row 1 was written: the next step reads it as row 0
        std::rotate(state.begin(), state.begin() + std::ssize(state) / 3, state.end());
        part.floats("state", state);
      }
      set_sequence(part, first, end - first, first > 0 ? 0 : -1).run();
      const Floats y = part.floats("y");
      got.insert(got.end(), y.begin(), y.end());
      state = part.floats("state");
    }
    CAPTURE(cut);
    CHECK(got == expected);
  }
}

// y for one element by two passes over its pool in f32.
float plain(const Floats& x, const Floats& scores, std::size_t begin, std::size_t end) {
  const float max = *std::max_element(scores.begin() + std::ptrdiff_t(begin),
                                      scores.begin() + std::ptrdiff_t(end));
  float sum = 0, weighted = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const float weight = std::exp(scores[i] - max);
    sum += weight, weighted += weight * x[i];
  }
  return weighted / sum;
}

TEST_CASE("pool_tokens: plain f32 keeps within the bound, a token less does not") {
  constexpr std::int32_t kTokens = 40, kSpan = 10;
  const Graph g = graph(kTokens, 1, {.span = kSpan});
  Floats x = noise(kTokens, 5), scores = noise(kTokens, 6), right, wrong;
  for (float& s : scores) s *= 8;
  for (std::size_t t = 0; t < kTokens; ++t) {
    const std::size_t begin = t / kSpan * kSpan;
    right.push_back(plain(x, scores, begin, t + 1));
    wrong.push_back(plain(x, scores, begin, std::max(t, begin + 1)));
  }
  Evaluator eval(g, kPadded);
  eval.floats("x", x).floats("scores", scores);
  set_sequence(eval, 0, kTokens, -1).run();
  check_close(right, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(wrong, eval.floats("y"), eval.bounds("y")).excess > 100);
  for (const float b : eval.bounds("state")) CHECK(b < 1e-3f);
}

// The weight of the large value is an exp whose argument is rounded.
TEST_CASE("pool_tokens: the bound covers small weights of large values") {
  const Graph g = graph(2, 1, {.span = 2});
  Evaluator eval(g, kPadded);
  const float high = 73.9f, low = 0.34f, value = 1e30f;
  eval.floats("x", {0, value}).floats("scores", {high, low});
  set_sequence(eval, 0, 2, -1).run();
  const double exact = std::exp(double{low} - double{high}) * double{value};
  const auto rounded = static_cast<float>(std::exp(double{low - high}) * double{value});
  REQUIRE(std::fabs(rounded - exact) > 3e-6 * exact);
  const Floats y = eval.floats("y"), bounds = eval.bounds("y");
  CHECK(std::fabs(rounded - y[1]) <= bounds[1]);
  CHECK(bounds[1] < 1e-4 * exact);
  CHECK(std::fabs(rounded - exact) <= eval.bounds("state")[5]);
}

// Rows of the state that nobody wrote can have any contents, such as noise.
TEST_CASE("pool_tokens: a sum below 0 counts as an empty pool") {
  const Graph g = graph(1, 1, {.span = 2});
  Evaluator eval(g, kPadded);
  eval.floats("x", {7}).floats("scores", {-3});
  eval.floats("state", {5, -0.25f, 2, 0, 0, 0, 0, 0, 0});
  set_sequence(eval, 1, 1, 0).run();
  CHECK(eval.floats("y") == Floats{7});
}

TEST_CASE("pool_tokens: invalid arguments") {
  const TensorSpec x{f32, {5, 8}}, state{f32, {2, 4, 2, 3}}, ids{i32, {5}};
  const auto refused = [](const PoolTokensAttrs& a, const std::vector<TensorSpec>& in) {
    return refusal(kPoolTokens, a, in);
  };
  const PoolTokensAttrs two{.span = 4, .parts = 2};
  CHECK(refused(two, {x, x, ids, state, ids, ids, ids}) == "accepted");
  CHECK(refused({.span = 0}, {x, x, ids, state, ids, ids, ids}) ==
        "ValueError: span must be at least 1, got 0");
  CHECK(refused({.parts = 0}, {x, x, ids, state, ids, ids, ids}) ==
        "ValueError: parts must be at least 1, got 0");
  CHECK(refused({.parts = 3}, {x, x, ids, state, ids, ids, ids}) ==
        "ShapeError: x must be [T, 3 E], got [5, 8]");
  CHECK(refused(two, {x, {f32, {5, 4}}, ids, state, ids, ids, ids}) ==
        "ShapeError: scores must be [5, 8], got [5, 4]");
  CHECK(refused(two, {x, x, {i32, {4}}, state, ids, ids, ids}) ==
        "ShapeError: pos must be [5], got [4]");
  CHECK(refused(two, {x, x, ids, {f32, {2, 8, 1, 3}}, ids, ids, ids}) ==
        "ShapeError: state must be [R, 4, 2, 3], got [2, 8, 1, 3]");
}

}  // namespace
}  // namespace weft
