#include "decoder/pooled_tokens.h"

#include "weft/ops/elementwise/add.h"
#include "weft/ops/ids/negate_ids.h"
#include "weft/ops/ids/remainder_ids.h"
#include "weft/ops/positions/rope.h"
#include "weft/ops/positions/shift_positions.h"
#include "weft/ops/rows/concat_heads.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/slice_heads.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {

SpanAngles span_angles(Tensor pos, const RopeAttrs& attrs, std::int64_t span) {
  SpanAngles angles{rope_angles(pos, attrs), rope_angles(negate_ids(pos), attrs), {}};
  if (span > 0) {
    const ShiftAttrs start{.step = static_cast<std::int32_t>(span)};
    angles.span_start = rope_angles(shift_positions(pos, start), attrs);
  }
  return angles;
}

Tensor rotate_last(Tensor x, Tensor angles) {
  const std::int64_t E = x.shape()[2].bound, fixed = E - angles.shape()[1].bound;
  if (fixed == 0) return rope(x, angles, RopePairs::adjacent);
  const Tensor rotated = rope(slice_heads(x, fixed, E), angles, RopePairs::adjacent);
  return concat_heads(slice_heads(x, 0, fixed), rotated);
}

Tensor pool_span(const Layer& l, const SpanPool& pool, Tensor angles, Tensor x) {
  const std::int64_t width = pool.parts * pool.E;
  const PoolTokensAttrs attrs{.span = static_cast<std::int32_t>(pool.span),
                              .parts = static_cast<std::int32_t>(pool.parts)};
  const Tensor table = l.w(pool.name + "_ape.weight", {pool.span, width});
  const Tensor by_place = get_rows(table, remainder_ids(l.in.pos, attrs.span));
  const Tensor scores = add(project(l.w, pool.name + "_gate", width, l.c.D, x), by_place);
  const Tensor values = project(l.w, pool.name + "_kv", width, l.c.D, x);
  const Recurrent state =
      l.in.memory.recurrent(fmt::format("{}.{}", pool.name, l.index), {pool.E, pool.parts, 3});
  const Tensor y = state.pool_tokens(values, scores, l.in.pos, attrs);
  return rotate_last(split_heads(norm(l.w, pool.name + "_norm", l.c, y), 1), angles);
}

}  // namespace weft::arch
