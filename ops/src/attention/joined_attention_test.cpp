#include "weft/ops/attention/joined_attention.h"

#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/formats/q8_0.h"

#include "op_test.h"
#include "support/cells.h"
#include "support/runs.h"

namespace weft {
namespace {

using namespace test;

using Ints = std::vector<std::int32_t>;

// One token, cells of one element that is key and value.
struct Setup {
  Floats cells = {}, more = {};
  std::int32_t first = 0, first2 = 0;
  Ints chosen = {};
  Floats sinks = {};
  float q = 0;
  float scale = 1;

  template <class F>
  Floats get(F f) const {
    Graph g;
    const std::int64_t n = std::ssize(cells), n2 = std::max<std::int64_t>(1, std::ssize(more));
    const Tensor qs = g.input("q", {f32, {1, 1, 1}}), k = g.input("k", {f32, cache_shape(n, 1, 1)}),
                 k2 = g.input("k2", {f32, cache_shape(n2, 1, 1)}),
                 table2 = g.input("table2", {i32, {1, blocks_for(n2)}}),
                 f2 = g.input("first2", {i32, {1}}), l2 = g.input("last2", {i32, {1}});
    const Tensor numbers =
        chosen.empty() ? Tensor() : g.input("chosen", {i32, {1, 1, std::ssize(chosen)}});
    const Tensor sink = sinks.empty() ? Tensor() : g.weight("sinks", {f32, {1}});
    const AttentionRuns runs = runs_inputs(g, 1, n);
    g.output("y", joined_attention(qs, {k, runs, {}}, {k2, {table2, {}, f2, l2}, numbers},
                                   {.scale = scale, .window = static_cast<std::int32_t>(n)}, sink));
    Evaluator eval(g, kPadded);
    eval.floats("q", {q}).floats("k", in_cells(cells, 1, 1));
    eval.floats("k2", in_cells(more.empty() ? Floats{NAN} : more, 1, 1));
    Ints blocks;
    for (std::int32_t b = 0; b < blocks_for(n2); ++b) blocks.push_back(b);
    eval.ints("table2", blocks).ints("first2", {first2});
    eval.ints("last2", {static_cast<std::int32_t>(std::ssize(more)) - 1});
    if (numbers) eval.ints("chosen", chosen);
    if (sink) eval.floats("sinks", sinks);
    set_runs(eval, {first}, {static_cast<std::int32_t>(n - 1)}).run();
    return f(eval);
  }
  Floats y() const {
    return get([](const Evaluator& eval) { return eval.floats("y"); });
  }
  Floats bounds() const {
    return get([](const Evaluator& eval) { return eval.bounds("y"); });
  }
};

TEST_CASE("joined_attention: with equal scores, the mean of both runs") {
  Setup s{.cells = {1, 2, 6}, .more = {11, 30}};
  CHECK(s.y() == Floats{10});
  s.first = 1;
  CHECK(s.y() == Floats{12.25f});
  s.first2 = 1;
  CHECK(s.y() == Floats{38 / 3.0f});
}

TEST_CASE("joined_attention: the second run may be empty, and is reduced to what is chosen") {
  Setup s{.cells = {1, 2, 6}};
  CHECK(s.y() == Floats{3});
  s.chosen = {-1, -1};
  CHECK(s.y() == Floats{3});
  s.more = {100, 11, 200, 30, 300};
  CHECK(s.y() == Floats{3});
  s.chosen = {1, 3};
  CHECK(s.y() == Floats{10});
  s.chosen = {1, 3, 7, -1};  // 7 is behind the run
  CHECK(s.y() == Floats{10});
}

TEST_CASE("joined_attention: one softmax, with a sink") {
  const Setup s{.cells = {1, 2}, .more = {3}, .sinks = {0.5f}, .q = 2, .scale = 0.5f};
  const double e1 = std::exp(1), e2 = std::exp(2), e3 = std::exp(3), sink = std::exp(0.5);
  const auto expected = static_cast<float>((e1 + 2 * e2 + 3 * e3) / (e1 + e2 + e3 + sink));
  check_close({expected}, s.y(), s.bounds());
  CHECK(s.bounds()[0] < 1e-4f);
  Setup without = s;
  without.sinks = {};
  CHECK(std::fabs(without.y()[0] - expected) > 1000 * s.bounds()[0]);
}

TEST_CASE("joined_attention: cells of both runs beyond a block") {
  Setup s;
  double sum = 0;
  for (int i = 0; i < 70; ++i) s.cells.push_back(static_cast<float>(i)), sum += i;
  for (int i = 0; i < 130; ++i) s.more.push_back(static_cast<float>(1000 + i)), sum += 1000 + i;
  check_close({static_cast<float>(sum / 200)}, s.y(), s.bounds());
}

// A kernel gathers the 64 cells of the window from two blocks of the cache into one, and rounds
// their weights in units of the largest.
TEST_CASE("joined_attention: the bound allows for cells that are gathered into one block") {
  constexpr std::int32_t kFirst = 30, kN = 64, kWidth = 32;
  Graph g;
  const Shape cache = cache_shape(kFirst + kN, 1, kWidth);
  const Tensor q = g.input("q", {f32, {1, 1, kWidth}}), k = g.input("k", {q8_0, cache}),
               k2 = g.input("k2", {q8_0, cache_shape(1, 1, kWidth)}),
               table2 = g.input("table2", {i32, {1, 1}}), first2 = g.input("first2", {i32, {1}}),
               last2 = g.input("last2", {i32, {1}});
  const AttentionRuns runs = runs_inputs(g, 1, kFirst + kN);
  g.output("y", joined_attention(q, {k, runs, {}}, {k2, {table2, {}, first2, last2}, {}},
                                 {.window = kN}));
  Floats cells(std::size_t{kFirst + kN} * kWidth, 0.5f), query(kWidth);
  query[0] = 20;
  cells[cells.size() - kWidth] = 1;  // the last score is larger by 10
  Evaluator eval(g, kPadded);
  eval.floats("q", query).floats("k", in_cells(cells, 1, kWidth)).ints("table2", {0});
  eval.ints("first2", {0}).ints("last2", {-1});
  set_runs(eval, {kFirst}, {kFirst + kN - 1}).run();
  const float bound = eval.bounds("y")[1];
  CHECK(bound > 0.9 * kN / 65534.0);
  CHECK(bound < 1.5 * kN / 65534.0);
}

TEST_CASE("joined_attention: invalid arguments") {
  const TensorSpec q{f32, {5, 4, 8}}, k{f32, {2, 1, 64, 8}}, table{i32, {3, 2}}, ids{i32, {5}},
      chosen{i32, {5, 1, 7}}, sinks{f32, {4}};
  const std::vector<TensorSpec> good{q, k, table, ids, ids, ids, k, table, ids, ids, chosen, sinks};
  const auto with = [&](std::size_t i, const TensorSpec& spec) {
    std::vector<TensorSpec> in = good;
    in[i] = spec;
    return refusal(kJoinedAttention, JoinedAttentionAttrs{.window = 8}, in);
  };
  CHECK(with(0, q) == "accepted");
  CHECK(with(10, {}) == "accepted");
  CHECK(refusal(kJoinedAttention, JoinedAttentionAttrs{.window = 0}, good) ==
        "ValueError: window must be at least 1, got 0");
  CHECK(with(1, {f32, {2, 2, 64, 8}}) == "ShapeError: k must be [B, 1, 64, 8], got [2, 2, 64, 8]");
  CHECK(with(6, {f16, {2, 1, 64, 8}}) == "DTypeError: k2 must be F32, got F16");
  CHECK(with(6, {f32, {2, 1, 64, 4}}) ==
        "ShapeError: k2 must be [B2, 1, 64, 8], got [2, 1, 64, 4]");
  CHECK(with(7, {i32, {2, 2}}) == "ShapeError: table2 must be [3, M2], got [2, 2]");
  CHECK(with(9, {i32, {4}}) == "ShapeError: last2 must be [5], got [4]");
  CHECK(with(10, {i32, {5, 2, 7}}) == "ShapeError: chosen must be [5, 1, K], got [5, 2, 7]");
  CHECK(with(11, {f32, {5}}) == "ShapeError: sinks must be [4], got [5]");
}

}  // namespace
}  // namespace weft
