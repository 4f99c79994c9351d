#include "weft/ops/ids/negate_ids.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("negate_ids: both signs and both ends") {
  Graph g;
  const Tensor y = negate_ids(g.input("ids", {i32, {4}}));
  g.output("y", y);
  Evaluator eval(g, kPadded);
  eval.ints("ids", {0, 5, INT32_MAX, -7}).run();
  const std::int32_t* row = eval.view(y.id()).row<std::int32_t>(0);
  CHECK(std::vector(row, row + 4) == std::vector<std::int32_t>{0, -5, -INT32_MAX, 7});
}

TEST_CASE("negate_ids: invalid arguments") {
  CHECK(refusal(kNegateIds, {}, {{f32, {2}}}) == "DTypeError: ids must be I32, got F32");
}

}  // namespace
}  // namespace weft
