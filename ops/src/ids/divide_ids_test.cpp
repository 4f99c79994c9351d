#include "weft/ops/ids/divide_ids.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

using Ints = std::vector<std::int32_t>;

Ints divided(const Ints& ids, std::int32_t divisor) {
  Graph g;
  const Tensor y = divide_ids(g.input("ids", {i32, {2, std::ssize(ids) / 2}}), divisor);
  g.output("y", y);
  Evaluator eval(g, kPadded);
  eval.ints("ids", ids).run();
  Ints got;
  for (std::int64_t r = 0; r < 2; ++r) {
    const std::int32_t* row = eval.view(y.id()).row<std::int32_t>(r);
    got.insert(got.end(), row, row + std::ssize(ids) / 2);
  }
  return got;
}

TEST_CASE("divide_ids: groups of neighbours") {
  CHECK(divided({0, 1, 2, 3, 4, 5}, 2) == Ints{0, 0, 1, 1, 2, 2});
  CHECK(divided({7, 8, 9, 10, 11, 12}, 4) == Ints{1, 2, 2, 2, 2, 3});
  CHECK(divided({7, 0, INT32_MAX, 1}, 1) == Ints{7, 0, INT32_MAX, 1});
  CHECK(divided({INT32_MAX, INT32_MAX - 1}, INT32_MAX) == Ints{1, 0});
}

TEST_CASE("divide_ids: invalid arguments") {
  const DivideIdsAttrs attrs;
  CHECK(refusal(kDivideIds, attrs, {{f32, {2, 2}}}) == "DTypeError: ids must be I32, got F32");
  CHECK(refusal(kDivideIds, attrs, {{i32, {2}}}) == "ShapeError: ids must be [T, K], got [2]");
  CHECK(refusal(kDivideIds, DivideIdsAttrs{0}, {{i32, {2, 2}}}) ==
        "ValueError: divisor must be positive and finite, got 0");
}

}  // namespace
}  // namespace weft
