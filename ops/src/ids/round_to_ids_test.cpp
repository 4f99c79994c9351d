#include "weft/ops/ids/round_to_ids.h"

#include <cmath>

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

using Ints = std::vector<std::int32_t>;

Ints rounded(const Floats& x, std::int32_t max) {
  Graph g;
  const Tensor y = round_to_ids(g.input("x", {f32, {std::ssize(x), 1}}), max);
  g.output("y", y);
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  Ints got;
  for (std::int64_t t = 0; t < std::ssize(x); ++t)
    got.push_back(eval.view(y.id()).row<std::int32_t>(t)[0]);
  return got;
}

TEST_CASE("round_to_ids: nearest whole number within the range") {
  CHECK(rounded({0, 0.49f, 0.5f, 1.5f, 2.4999f, 2.5f}, 9) == Ints{0, 0, 1, 2, 2, 3});
  CHECK(rounded({-0.5f, -3, 9.4f, 10, INFINITY, -INFINITY, NAN}, 9) == Ints{0, 0, 9, 9, 9, 0, 0});
  CHECK(rounded({3e38f}, INT32_MAX) == Ints{INT32_MAX});
}

TEST_CASE("round_to_ids: invalid arguments") {
  const RoundToIdsAttrs attrs;
  CHECK(refusal(kRoundToIds, attrs, {{f16, {2, 2}}}) == "DTypeError: x must be F32, got F16");
  CHECK(refusal(kRoundToIds, attrs, {{f32, {2}}}) == "ShapeError: x must be [T, K], got [2]");
  CHECK(refusal(kRoundToIds, RoundToIdsAttrs{-1}, {{f32, {2, 2}}}) ==
        "ValueError: max must be at least 0, got -1");
}

}  // namespace
}  // namespace weft
