#include "weft/ops/attention/choose_positions.h"

#include <numeric>

#include "weft/ops/attention/cache_cells.h"

#include "op_test.h"
#include "support/cells.h"
#include "support/runs.h"

namespace weft {
namespace {

using namespace test;

using Ints = std::vector<std::int32_t>;

// One token, keys of one element: with q = 1 and no weights, a key is its score.
struct Setup {
  Floats keys;
  ChoosePositionsAttrs attrs = {};
  Floats q = {1}, weights = {};
  std::int32_t first = 0, last = static_cast<std::int32_t>(keys.size()) - 1;
  DType cache = f32;

  Ints chosen() const {
    Graph g;
    const std::int64_t n = std::ssize(keys), heads = std::ssize(q);
    const Tensor qs = g.input("q", {f32, {1, heads, 1}}),
                 ks = g.input("k", {cache, cache_shape(n, 1, 1)});
    const AttentionRuns runs = runs_inputs(g, 1, n);
    Tensor w;
    if (!weights.empty()) w = g.input("weights", {f32, {1, heads}});
    const Tensor y = choose_positions(qs, ks, runs, attrs, w);
    g.output("chosen", y);
    Evaluator eval(g, kPadded);
    eval.floats("q", q).floats("k", in_cells(keys, 1, 1, INFINITY));
    if (w) eval.floats("weights", weights);
    set_runs(eval, {first}, {last}).run();
    const View out = eval.view(y.id());
    return {out.row<std::int32_t>(0), out.row<std::int32_t>(0) + out.cols()};
  }
};

TEST_CASE("choose_positions: the best ones in ascending order") {
  CHECK(Setup{{1, 5, 3, 4}, {.k = 2}}.chosen() == Ints{1, 3});
  CHECK(Setup{{4, 3, 5, 1}, {.k = 3}}.chosen() == Ints{0, 1, 2});
  CHECK(Setup{{2, 1, 2, 2}, {.k = 2}}.chosen() == Ints{0, 2});
  CHECK(Setup{{0, -0.0f, 0}, {.k = 2}}.chosen() == Ints{0, 1});
}

TEST_CASE("choose_positions: a heap's rule decides which of equal scores are removed") {
  // When 5 is added, the zero at the root is removed, not one of the other three.
  CHECK(Setup{{0, 0, 0, 0, 4, 1, 2, 3, 5}, {.k = 8}}.chosen() == Ints{0, 1, 3, 4, 5, 6, 7, 8});
  // The rule of std::partial_sort in libstdc++.
  for (std::uint32_t seed = 1; seed < 60; ++seed) {
    CAPTURE(seed);
    Floats scores = noise(64, seed);
    for (float& s : scores) s = std::max(0.0f, std::round(s * 3));
    const auto k = static_cast<std::int32_t>(seed);
    Ints sorted(64);
    std::iota(sorted.begin(), sorted.end(), 0);
    std::partial_sort(sorted.begin(), sorted.begin() + k, sorted.end(), [&](auto a, auto b) {
      return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
    });
    sorted.resize(seed);
    std::ranges::sort(sorted);
    CHECK(Setup{scores, {.k = k}}.chosen() == sorted);
  }
}

TEST_CASE("choose_positions: only of the run, and -1 if it has fewer") {
  CHECK(Setup{.keys = {9, 1, 2, 3, 9}, .attrs = {.k = 2}, .first = 1, .last = 3}.chosen() ==
        Ints{2, 3});
  CHECK(Setup{.keys = {9, 1, 2, 9}, .attrs = {.k = 4}, .first = 1, .last = 2}.chosen() ==
        Ints{1, 2, -1, -1});
}

TEST_CASE("choose_positions: no more columns than there can be spans") {
  CHECK(Setup{{1, 2}, {.k = INT32_MAX}}.chosen().size() == 64);
  CHECK(Setup{{1, 2}, {.k = INT32_MAX, .span = 10}}.chosen() == Ints{0, -1, -1, -1, -1, -1, -1});
  CHECK(Setup{{1, 2}, {.k = 3, .span = INT32_MAX}}.chosen() == Ints{0});
}

TEST_CASE("choose_positions: NaN and infinities have their place") {
  CHECK(Setup{{NAN, -1, INFINITY, -INFINITY}, {.k = 2}}.chosen() == Ints{1, 2});
  CHECK(Setup{{NAN, NAN, -INFINITY}, {.k = 2}}.chosen() == Ints{0, 1});
}

TEST_CASE("choose_positions: every head chooses for its own without weights") {
  CHECK(Setup{{1, 5, 3, 4}, {.k = 2}, {1, -1}}.chosen() == Ints{1, 3, 0, 2});
}

TEST_CASE("choose_positions: heads vote with their weights, for what they score above 0") {
  // Heads score (1, -2, 3) and (-1, 2, -3): above 0 are 1, 0, 3 and 0, 2, 0.
  const Setup s{.keys = {1, -2, 3}, .attrs = {.k = 1}, .q = {1, -1}, .weights = {1, 1}};
  CHECK(s.chosen() == Ints{2});
  Setup second = s;
  second.weights = {0.5f, 1};  // 0.5, 2, 1.5
  CHECK(second.chosen() == Ints{1});
  second.weights = {-1, -1};  // -1, -2, -3
  CHECK(second.chosen() == Ints{0});
}

TEST_CASE("choose_positions: a span is as good as its best position in the run") {
  const Floats keys{1, 7, 2, 2, 0, 3, 9, 9};
  CHECK(Setup{keys, {.k = 2, .span = 2}}.chosen() == Ints{0, 3});
  CHECK(Setup{.keys = keys, .attrs = {.k = 2, .span = 2}, .last = 5}.chosen() == Ints{0, 2});
  CHECK(Setup{.keys = keys, .attrs = {.k = 1, .span = 2}, .first = 2, .last = 4}.chosen() ==
        Ints{1});
}

TEST_CASE("choose_positions: the last spans are taken first") {
  const Floats keys{1, 7, 2, 2, 0, 0, -9};
  CHECK(Setup{keys, {.k = 2, .span = 2, .always = 1}}.chosen() == Ints{0, 3});
  CHECK(Setup{keys, {.k = 2, .span = 2, .always = 2}}.chosen() == Ints{2, 3});
  CHECK(Setup{keys, {.k = 1, .span = 2, .always = 2}}.chosen() == Ints{3});
  CHECK(Setup{keys, {.k = 4, .span = 2, .always = 9}}.chosen() == Ints{0, 1, 2, 3});
  Setup never{keys, {.k = 1, .always = 1}};
  never.keys.back() = NAN;
  CHECK(never.chosen() == Ints{6});
}

TEST_CASE("choose_positions: blocks of a pool are found by the table, keys of any type") {
  Graph g;
  const Tensor y =
      choose_positions(g.input("q", {f32, {2, 1, 1}}), g.input("k", {f16, {3, 1, 64, 1}}),
                       runs_inputs(g, 2, 128, 2), {.k = 2});
  g.output("chosen", y);
  Floats keys(192);
  keys[2 * 64 + 5] = 3, keys[0 * 64 + 7] = 2, keys[1 * 64 + 9] = 4;
  Evaluator eval(g, kPadded);
  eval.floats("q", {1, 1}).floats("k", keys);
  eval.ints("table", {2, 0, 1, -1}).ints("table_row", {0, 1}).ints("first", {0, 0});
  eval.ints("last", {127, 63}).run();
  const auto row = [&](std::int64_t t) {
    const std::int32_t* ids = eval.view(y.id()).row<std::int32_t>(t);
    return Ints{ids[0], ids[1]};
  };
  CHECK(row(0) == Ints{5, 64 + 7});
  CHECK(row(1) == Ints{0, 9});
}

TEST_CASE("choose_positions: invalid arguments") {
  const TensorSpec q{f32, {2, 4, 32}}, k{f16, {9, 1, 64, 32}}, table{i32, {3, 5}}, ids{i32, {2}};
  const ChoosePositionsAttrs plain;
  const auto refused = [&](const ChoosePositionsAttrs& a) {
    return refusal(kChoosePositions, a, {q, k, table, ids, ids, ids});
  };
  CHECK(refused({.k = 0}) == "ValueError: k must be at least 1, got 0");
  CHECK(refused({.span = 0}) == "ValueError: span must be at least 1, got 0");
  CHECK(refused({.always = -1}) == "ValueError: always must be at least 0, got -1");
  CHECK(refused({.k = 7}) == "accepted");
  const auto with = [&](std::size_t at, const TensorSpec& spec) {
    std::vector<TensorSpec> in{q, k, table, ids, ids, ids, {f32, {2, 4}}};
    in[at] = spec;
    return refusal(kChoosePositions, plain, in);
  };
  CHECK(with(0, {f16, {2, 4, 32}}) == "DTypeError: q must be F32, got F16");
  CHECK(with(0, {f32, {2, 32}}) == "ShapeError: q must be [T, H, E], got [2, 32]");
  CHECK(with(1, {f32, {9, 2, 64, 32}}) ==
        "ShapeError: k must be [B, 1, 64, 32], got [9, 2, 64, 32]");
  CHECK(with(1, {f32, {9, 1, 64, 16}}) ==
        "ShapeError: k must be [B, 1, 64, 32], got [9, 1, 64, 16]");
  CHECK(with(2, {i32, {5}}) == "ShapeError: table must be [Q, M], got [5]");
  CHECK(with(3, {i32, {3}}) == "ShapeError: table_row must be [2], got [3]");
  CHECK(with(4, {f32, {2}}) == "DTypeError: first must be I32, got F32");
  CHECK(with(6, {f16, {2, 4}}) == "DTypeError: weights must be F32, got F16");
  CHECK(with(6, {f32, {2, 1}}) == "ShapeError: weights must be [2, 4], got [2, 1]");
}

TEST_CASE("choose_positions: one choice of all heads if they are weighted, else one per head") {
  const TensorSpec ids{i32, {2}}, weights{f32, {2, 4}};
  std::vector<TensorSpec> in{{f32, {2, 4, 8}}, {f16, {9, 1, 64, 8}}, {i32, {3, 2}}, ids, ids, ids,
                             weights};
  const ChoosePositionsAttrs attrs{.k = 3};
  CHECK(kChoosePositions.infer(attrs, in) == TensorSpec{i32, {2, 1, 3}});
  in.back() = {};
  const TensorSpec out = kChoosePositions.infer(attrs, in);
  CHECK(out == TensorSpec{i32, {2, 4, 3}});
  CHECK(kChoosePositions.col_granule(attrs, in, out) == 3);
}

}  // namespace
}  // namespace weft
