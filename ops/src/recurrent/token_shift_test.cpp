#include "weft/ops/recurrent/token_shift.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("token_shift: from zero, from a state and from earlier tokens, by hand") {
  Graph g;
  const StateRows rows{g.state("state", {f32, {4, 2}}), g.input("from", {i32, {4}}),
                       g.input("before", {i32, {4}}), g.input("to", {i32, {4}})};
  g.output("y", token_shift(g.input("x", {f32, {4, 2}}), rows));
  check(g);
  Evaluator eval(g, kPadded);
  eval.floats("x", {1, 2, 3, 4, 5, 6, 7, 8}).floats("state", {9, 9, 100, 200, 9, 9, 9, 9});
  // Tokens 0 and 2 are of one sequence, which is new; 1 and 3 of one whose state is row 1. Row 2
  // keeps the new one after its first token, row 3 the other one at its end.
  eval.ints("from", {-1, 1, -1, 1}).ints("before", {-1, -1, 0, 1}).ints("to", {2, -1, -1, 3});
  eval.run();
  CHECK(eval.floats("y") == Floats{0, 0, 100, 200, 1, 2, 3, 4});
  CHECK(eval.floats("state") == Floats{9, 9, 100, 200, 1, 2, 7, 8});
  for (const float b : eval.bounds("y")) CHECK(b == 0);
  for (const float b : eval.bounds("state")) CHECK(b == 0);
}

TEST_CASE("token_shift: costs the rows of the step, not the state") {
  const TensorSpec ids{i32, {3}};
  const std::vector<TensorSpec> in{{f32, {3, 8}}, {f32, {4096, 8}}, ids, ids, ids};
  const Cost cost = kTokenShift.cost({}, in, in[0], {});
  CHECK(cost.bytes_read == 2 * 3 * 8 * 4 + 36);
  CHECK(cost.bytes_written == 2 * 3 * 8 * 4);
}

TEST_CASE("token_shift: invalid arguments") {
  const TensorSpec x{f32, {3, 8}}, state{f32, {5, 8}}, ids{i32, {3}};
  CHECK(refusal(kTokenShift, {}, {{f16, {3, 8}}, state, ids, ids, ids}) ==
        "DTypeError: x must be F32, got F16");
  CHECK(refusal(kTokenShift, {}, {{f32, {8}}, state, ids, ids, ids}) ==
        "ShapeError: x must be [T, D], got [8]");
  CHECK(refusal(kTokenShift, {}, {x, {f16, {5, 8}}, ids, ids, ids}) ==
        "DTypeError: state must be F32, got F16");
  CHECK(refusal(kTokenShift, {}, {x, {f32, {5, 4}}, ids, ids, ids}) ==
        "ShapeError: state must be [R, 8], got [5, 4]");
  CHECK(refusal(kTokenShift, {}, {x, state, {i32, {4}}, ids, ids}) ==
        "ShapeError: from must be [3], got [4]");
  CHECK(refusal(kTokenShift, {}, {x, state, ids, {f32, {3}}, ids}) ==
        "DTypeError: before must be I32, got F32");
  CHECK(refusal(kTokenShift, {}, {x, state, ids, ids, {i32, {2}}}) ==
        "ShapeError: to must be [3], got [2]");
}

}  // namespace
}  // namespace weft
