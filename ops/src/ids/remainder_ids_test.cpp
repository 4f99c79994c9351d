#include "weft/ops/ids/remainder_ids.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("remainder_ids: places in spans") {
  Graph g;
  const Tensor y = remainder_ids(g.input("ids", {i32, {6}}), 4);
  g.output("y", y);
  Evaluator eval(g, kPadded);
  eval.ints("ids", {0, 3, 4, 9, INT32_MAX, 16}).run();
  const std::int32_t* row = eval.view(y.id()).row<std::int32_t>(0);
  CHECK(std::vector(row, row + 6) == std::vector<std::int32_t>{0, 3, 0, 1, 3, 0});
}

TEST_CASE("remainder_ids: invalid arguments") {
  CHECK(refusal(kRemainderIds, RemainderIdsAttrs{}, {{f32, {2}}}) ==
        "DTypeError: ids must be I32, got F32");
  CHECK(refusal(kRemainderIds, RemainderIdsAttrs{0}, {{i32, {2}}}) ==
        "ValueError: divisor must be positive and finite, got 0");
}

}  // namespace
}  // namespace weft
