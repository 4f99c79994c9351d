#include "weft/ops/ids/top_k.h"

#include <set>

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

using Ints = std::vector<std::int32_t>;

// The ids that top_k chooses for rows of `n_cols` scores.
Ints best(const Floats& scores, std::int64_t n_cols, const TopKAttrs& attrs,
          const Floats& bias = {}) {
  Graph g;
  const Tensor s = g.input("scores", {f32, {std::ssize(scores) / n_cols, n_cols}});
  Tensor b;
  if (!bias.empty()) b = g.weight("bias", {f32, {n_cols}});
  const Tensor y = top_k(s, attrs, b);
  g.output("y", y);
  Evaluator eval(g, kPadded);
  eval.floats("scores", scores);
  if (b) eval.floats("bias", bias);
  eval.run();
  const View out = eval.view(y.id());
  Ints ids;
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    const std::int32_t* row = out.row<std::int32_t>(r);
    ids.insert(ids.end(), row, row + out.cols());
  }
  return ids;
}

TEST_CASE("top_k: the largest first, of equal ones the lower column") {
  CHECK(best({1, 5, 3, 4, -1, -2, -4, -3}, 4, {.k = 2}) == Ints{1, 3, 0, 1});
  CHECK(best({2, 1, 2, 2}, 4, {.k = 3}) == Ints{0, 2, 3});
  CHECK(best({0, 0, 0}, 3, {.k = 3}) == Ints{0, 1, 2});
  CHECK(best({7}, 1, {.k = 1}) == Ints{0});
}

TEST_CASE("top_k: a bias is added in f32 before columns are compared") {
  CHECK(best({1, 5, 3, 4}, 4, {.k = 2}, {10, 0, 3, 0}) == Ints{0, 2});
  CHECK(best({1e8f, 1e8f}, 2, {.k = 1}, {0, 1}) == Ints{0});  // equal after rounding
}

TEST_CASE("top_k: infinities have their place, NaN counts as -infinity") {
  CHECK(best({-INFINITY, 1, INFINITY, -2}, 4, {.k = 4}) == Ints{2, 1, 3, 0});
  CHECK(best({NAN, 1, -INFINITY, 2, NAN}, 5, {.k = 5}) == Ints{3, 1, 0, 2, 4});
  CHECK(best({NAN, NAN}, 2, {.k = 1}) == Ints{0});
}

TEST_CASE("top_k: columns of the best groups only, by their two largest values") {
  const TopKAttrs one{.k = 2, .n_groups = 3, .used_groups = 1};
  CHECK(best({9, 0, 0, 5, 5, 0, 8, 1, 1}, 9, one) == Ints{3, 4});
  const TopKAttrs two{.k = 3, .n_groups = 3, .used_groups = 2};
  CHECK(best({9, 0, 0, 5, 5, 0, 8, 2, 1}, 9, two) == Ints{6, 3, 4});
  CHECK(best({9, 0, 2, 5, 5, 0, 8, 1, 1}, 9, two) == Ints{0, 3, 4});
  CHECK(best({9, 0, 0, 5, 5, 0, 8, 1, 1}, 9, one, {0, 2, 0, 0, 0, 0, 0, 0, 0}) == Ints{0, 1});
}

TEST_CASE("top_k: groups of one column, equal groups, sums in f32") {
  CHECK(best({1, 4, 2, 3}, 4, {.k = 2, .n_groups = 4, .used_groups = 2}) == Ints{1, 3});
  const TopKAttrs attrs{.k = 2, .n_groups = 2, .used_groups = 1};
  CHECK(best({1, 2, 3, 0}, 4, attrs) == Ints{1, 0});
  CHECK(best({0x1p24f, 0, 0x1p24f, 1}, 4, attrs) == Ints{0, 1});  // 2^24 + 1 rounds to 2^24
}

TEST_CASE("top_k: no column outside of the best groups, even if those within are -infinity") {
  const TopKAttrs attrs{.k = 2, .n_groups = 2, .used_groups = 1};
  CHECK(best({0, -INFINITY, 1, -INFINITY}, 4, attrs) == Ints{0, 1});
  CHECK(best({NAN, -INFINITY, 1, -1}, 4, attrs) == Ints{2, 3});
}

TEST_CASE("top_k: a full sort gives the same, and groups that are all used change nothing") {
  for (std::uint32_t seed = 1; seed < 50; ++seed) {
    Floats scores = noise(64, seed);
    for (float& s : scores) s = std::round(s * 20);  // so that there are ties
    std::set<std::pair<float, std::int32_t>> sorted;
    for (std::int32_t i = 0; i < 64; ++i) sorted.insert({-scores[static_cast<std::size_t>(i)], i});
    Ints expected;
    for (const auto& [score, id] : sorted) expected.push_back(id);
    expected.resize(8);
    CHECK(best(scores, 64, {.k = 8}) == expected);
    CHECK(best(scores, 64, {.k = 8, .n_groups = 8, .used_groups = 8}) == expected);
  }
}

TEST_CASE("top_k: a row stays in one lane") {
  const TensorSpec scores{f32, {2, 8}};
  const TopKAttrs attrs{.k = 3};
  const std::vector<TensorSpec> in{scores, {}};
  CHECK(kTopK.col_granule(attrs, in, kTopK.infer(attrs, in)) == 3);
}

TEST_CASE("top_k: invalid arguments") {
  const TensorSpec scores{f32, {2, 8}};
  const auto refused = [&](const TopKAttrs& attrs) { return refusal(kTopK, attrs, {scores}); };
  const TopKAttrs plain;
  CHECK(refusal(kTopK, plain, {{f16, {2, 8}}}) == "DTypeError: scores must be F32, got F16");
  CHECK(refusal(kTopK, plain, {{f32, {8}}}) == "ShapeError: scores must be [T, X], got [8]");
  CHECK(refusal(kTopK, plain, {scores, {f16, {8}}}) == "DTypeError: bias must be F32, got F16");
  CHECK(refusal(kTopK, plain, {scores, {f32, {2}}}) == "ShapeError: bias must be [8], got [2]");
  CHECK(refused({.k = 0}) == "ValueError: k must be 1..8, got 0");
  CHECK(refused({.k = 9}) == "ValueError: k must be 1..8, got 9");
  CHECK(refused({.n_groups = 0}) == "ValueError: n_groups must be a divisor of 8, got 0");
  CHECK(refused({.n_groups = 3}) == "ValueError: n_groups must be a divisor of 8, got 3");
  CHECK(refused({.n_groups = 4, .used_groups = 0}) ==
        "ValueError: used_groups must be 1..4, got 0");
  CHECK(refused({.n_groups = 4, .used_groups = 5}) ==
        "ValueError: used_groups must be 1..4, got 5");
  CHECK(refused({.k = 5, .n_groups = 4, .used_groups = 2}) == "ValueError: k must be 1..4, got 5");
  CHECK(refused({.k = 4, .n_groups = 4, .used_groups = 2}) == "accepted");
}

}  // namespace
}  // namespace weft
