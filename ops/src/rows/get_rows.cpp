#include "weft/ops/rows/get_rows.h"

#include <algorithm>

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &table = in[0], &ids = in[1];
  expect_format("table", table);
  expect_form(table.shape.n_dims() == 2, "table", table, "[N, D]");
  expect_dtype("ids", ids, i32);
  const std::int64_t n_dims = ids.shape.n_dims();
  expect_form(n_dims == 1 || n_dims == 2, "ids", ids, "[T] or [T, K]");
  if (n_dims == 1) return {f32, {ids.shape[0], table.shape[1]}};
  return {f32, {ids.shape[0], ids.shape[1], table.shape[1]}};
}

void reference(const Attrs&, Views in, View out) {
  const View &table = in[0], &ids = in[1];
  RowReader rows(table);
  const std::int64_t d = table.cols(), n_each = out.cols() / d;
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    for (std::int64_t k = 0; k < n_each; ++k) {
      float* y = out.row<float>(t) + k * d;
      const std::int32_t id =
          ids.n_dims == 1 ? ids.row<const std::int32_t>(0)[t] : ids.row<const std::int32_t>(t)[k];
      if (id < 0 || id >= table.rows()) {
        std::fill_n(y, d, std::numeric_limits<float>::quiet_NaN());
      } else {
        std::copy_n(rows[id], d, y);
      }
    }
  }
}

// Reads only the requested rows, not the whole table.
Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  const std::int64_t n_rows = elems_at(in[1], extents);
  return {.bytes_read = n_rows * in[0].row_bytes() + bytes_at(in[1], extents),
          .bytes_written = bytes_at(out, extents)};
}

std::int64_t granule(const Attrs&, Specs in, const TensorSpec&) {
  return in[0].dtype.block_elems();
}

constexpr OpInput kInputs[] = {
    {.name = "table", .reach = Reach::all, .use = InputUse::table, .chosen_by = 1},
    {"ids", Reach::all}};

}  // namespace

const OpDef kGetRows{.name = "get_rows",
                     .inputs = kInputs,
                     .infer = infer,
                     .reference = reference,
                     .bound = exact,
                     .cost = cost,
                     .col_granule = granule,
                     .cuts = {.whole = true}};

Tensor get_rows(Tensor table, Tensor ids, SourceLine where) {
  return add_node(kGetRows, {table, ids}, {}, where);
}

}  // namespace weft
