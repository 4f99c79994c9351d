#include "weft/ops/positions/shift_positions.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

using Ints = std::vector<std::int32_t>;

Ints shifted(const Ints& pos, const ShiftAttrs& attrs, const Ints& limit = {}) {
  Graph g;
  const Dim t = g.variable("T", 2000);
  const Tensor p = g.input("pos", {i32, {t}});
  Tensor l;
  if (!limit.empty()) l = g.input("limit", {i32, {t}});
  const Tensor y = shift_positions(p, attrs, l);
  g.output("y", y);
  Evaluator eval(g, kPadded);
  eval.extent("T", std::ssize(pos)).ints("pos", pos);
  if (l) eval.ints("limit", limit);
  eval.run();
  const View out = eval.view(y.id());
  const std::int32_t* first = out.row<std::int32_t>(0);
  return {first, first + out.cols()};
}

TEST_CASE("shift_positions: neighbours on both sides") {
  CHECK(shifted({0, 1, 5, 9}, {.offset = -3}) == Ints{0, 0, 2, 6});
  CHECK(shifted({0, 5, 6, 9}, {.offset = 3}, {9, 7, 9, 9}) == Ints{3, 7, 9, 9});
}

TEST_CASE("shift_positions: the start of a chunk") {
  CHECK(shifted({0, 3, 4, 7, 8, 13}, {.step = 4}) == Ints{0, 0, 4, 4, 8, 12});
  CHECK(shifted({0, 3, 4, 9}, {.offset = 4, .step = 4}, {5, 5, 5, 99}) == Ints{4, 4, 5, 12});
  CHECK(shifted({0, 3, 5}, {.offset = -4, .step = 4}) == Ints{0, 0, 0});
}

TEST_CASE("shift_positions: ends of the range") {
  constexpr std::int32_t kMax = INT32_MAX, kMin = INT32_MIN;
  CHECK(shifted({kMax, 0}, {.offset = kMax}) == Ints{kMax, kMax});
  CHECK(shifted({kMax, 0}, {.offset = kMin}) == Ints{0, 0});
  CHECK(shifted({kMax, kMax - 1, 0}, {.step = kMax}) == Ints{kMax, 0, 0});
  CHECK(shifted({7, 8}, {}, {0, kMax}) == Ints{0, 8});
}

TEST_CASE("shift_positions: the last multiple of step that is not above the position") {
  Ints pos;
  for (std::int32_t i = 0; i < 2000; ++i) pos.push_back(i);
  for (const std::int32_t step : {1, 3, 64, 1000}) {
    const Ints y = shifted(pos, {.step = step});
    for (std::size_t i = 0; i < pos.size(); ++i) {
      CHECK(y[i] % step == 0);
      CHECK(y[i] <= pos[i]);
      CHECK(pos[i] - y[i] < step);
    }
  }
}

TEST_CASE("shift_positions: invalid arguments") {
  const TensorSpec pos{i32, {2}};
  const ShiftAttrs attrs;
  CHECK(refusal(kShiftPositions, attrs, {{f32, {2}}}) == "DTypeError: pos must be I32, got F32");
  CHECK(refusal(kShiftPositions, attrs, {{i32, {2, 1}}}) ==
        "ShapeError: pos must be [T], got [2, 1]");
  CHECK(refusal(kShiftPositions, attrs, {pos, {f32, {2}}}) ==
        "DTypeError: limit must be I32, got F32");
  CHECK(refusal(kShiftPositions, attrs, {pos, {i32, {3}}}) ==
        "ShapeError: limit must be [2], got [3]");
  CHECK(refusal(kShiftPositions, ShiftAttrs{.step = 0}, {pos}) ==
        "ValueError: step must be positive and finite, got 0");
}

}  // namespace
}  // namespace weft
