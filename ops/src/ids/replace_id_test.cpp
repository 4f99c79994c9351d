#include "weft/ops/ids/replace_id.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

using Ints = std::vector<std::int32_t>;

TEST_CASE("replace_id: one id, then another") {
  Graph g;
  const Dim t = g.variable("T", 8);
  const Tensor ids = g.input("ids", {i32, {t}});
  const Tensor once = replace_id(ids, ids, {.from = 7, .to = 3});
  const Tensor twice = replace_id(ids, once, {.from = 3, .to = -1});
  g.output("once", once);
  g.output("twice", twice);
  Evaluator eval(g, kPadded);
  eval.extent("T", 4).ints("ids", {7, 3, 0, 7}).run();
  const auto row = [&](Tensor y) {
    const std::int32_t* first = eval.view(y.id()).row<std::int32_t>(0);
    return Ints(first, first + 4);
  };
  CHECK(row(once) == Ints{3, 3, 0, 3});
  CHECK(row(twice) == Ints{3, -1, 0, 3});  // the new 3 is not replaced
}

TEST_CASE("replace_id: invalid arguments") {
  const ReplaceIdAttrs attrs;
  const TensorSpec ids{i32, {2}};
  CHECK(refusal(kReplaceId, attrs, {{f32, {2}}, ids}) == "DTypeError: ids must be I32, got F32");
  CHECK(refusal(kReplaceId, attrs, {{i32, {2, 1}}, ids}) ==
        "ShapeError: ids must be [T], got [2, 1]");
  CHECK(refusal(kReplaceId, attrs, {ids, {f32, {2}}}) ==
        "DTypeError: otherwise must be I32, got F32");
  CHECK(refusal(kReplaceId, attrs, {ids, {i32, {3}}}) ==
        "ShapeError: otherwise must be [2], got [3]");
}

}  // namespace
}  // namespace weft
