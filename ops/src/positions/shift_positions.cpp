#include "weft/ops/positions/shift_positions.h"

#include <algorithm>

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const TensorSpec &pos = in[0], &limit = in[1];
  expect_dtype("pos", pos, i32);
  expect_form(pos.shape.n_dims() == 1, "pos", pos, "[T]");
  if (limit.present()) {
    expect_dtype("limit", limit, i32);
    expect_shape("limit", limit, pos.shape);
  }
  expect_positive("step", attrs.as<ShiftAttrs>().step);
  return pos;
}

void reference(const Attrs& attrs, Views in, View out) {
  const auto& a = attrs.as<ShiftAttrs>();
  const std::int32_t* pos = in[0].row<const std::int32_t>(0);
  const std::int32_t* limit = in[1] ? in[1].row<const std::int32_t>(0) : nullptr;
  for (std::int64_t t = 0; t < out.cols(); ++t) {
    const std::int64_t shifted = std::max<std::int64_t>(0, std::int64_t{pos[t]} + a.offset);
    const std::int64_t y = shifted / a.step * a.step;
    const std::int64_t max = limit ? limit[t] : INT32_MAX;
    out.row<std::int32_t>(0)[t] = static_cast<std::int32_t>(std::min(y, max));
  }
}

constexpr OpInput kInputs[] = {{"pos", Reach::all}, {"limit", Reach::all, true}};

}  // namespace

const OpDef kShiftPositions{.name = "shift_positions",
                            .inputs = kInputs,
                            .attrs = &kAttrsType<ShiftAttrs>,
                            .infer = infer,
                            .reference = reference,
                            .bound = exact,
                            .cuts = {.whole = true},
                            .positions = Positions::range};

Tensor shift_positions(Tensor pos, const ShiftAttrs& attrs, Tensor limit, SourceLine where) {
  return add_node(kShiftPositions, {pos, limit}, attrs, where);
}

}  // namespace weft
