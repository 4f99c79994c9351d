#include "weft/ops/ids/get_ids.h"

#include <algorithm>

#include "ids/rounded_id.h"
#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const TensorSpec &table = in[0], &ids = in[1];
  const std::int32_t max = attrs.as<GetIdsAttrs>().max;
  if (max < 0) fail<ValueError>("max must not be negative, got {}", max);
  if (table.dtype != i32) expect_dtype("table", table, f32);
  expect_form(table.shape.n_dims() == 2, "table", table, "[N, K]");
  expect_dtype("ids", ids, i32);
  expect_form(ids.shape.n_dims() == 1, "ids", ids, "[T]");
  return {i32, {ids.shape[0], table.shape[1]}};
}

void reference(const Attrs& attrs, Views in, View out) {
  get_ids_region(attrs.as<GetIdsAttrs>(), in, out, Region::whole(out));
}

// A row of the table for each token.
Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  const std::int64_t moved = bytes_at(out, extents);
  return {.bytes_read = moved + bytes_at(in[1], extents), .bytes_written = moved};
}

constexpr OpInput kInputs[] = {
    {.name = "table", .reach = Reach::all, .use = InputUse::table, .chosen_by = 1},
    {"ids", Reach::all}};

}  // namespace

void get_ids_region(const GetIdsAttrs& attrs, Views in, const View& y,
                    const Region& region) noexcept {
  const View& table = in[0];
  const std::int32_t* ids = in[1].row<const std::int32_t>(0);
  const bool whole = table.dtype == i32;
  for (std::int64_t t = region.row0; t < region.row1; ++t) {
    const bool inside = ids[t] >= 0 && ids[t] < table.rows();
    for (std::int64_t k = region.col0; k < region.col1; ++k) {
      std::int32_t id = 0;
      if (inside)
        id = whole ? std::clamp(table.row<const std::int32_t>(ids[t])[k], 0, attrs.max)
                   : rounded_id(table.row<const float>(ids[t])[k], attrs.max);
      y.row<std::int32_t>(t)[k] = id;
    }
  }
}

const OpDef kGetIds{.name = "get_ids",
                    .inputs = kInputs,
                    .attrs = &kAttrsType<GetIdsAttrs>,
                    .infer = infer,
                    .reference = reference,
                    .bound = exact,
                    .cost = cost,
                    .cuts = {.whole = true}};

Tensor get_ids(Tensor table, Tensor ids, std::int32_t max, SourceLine where) {
  return add_node(kGetIds, {table, ids}, GetIdsAttrs{max}, where);
}

}  // namespace weft
