#include "weft/ops/rows/gather.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &x = in[0], &ids = in[1];
  expect_dtype("x", x, f32);
  expect_dtype("ids", ids, i32);
  expect_form(ids.shape.n_dims() == 2, "ids", ids, "[T, K]");
  const bool fits = x.shape.n_dims() == 1 || (x.shape.n_dims() == 2 && x.shape[0] == ids.shape[0]);
  expect_form(fits, "x", x, "[X] or [{}, X]", to_string(ids.shape[0]));
  return {f32, ids.shape};
}

void reference(const Attrs&, Views in, View out) {
  const View& x = in[0];
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    const float* row = x.row<const float>(x.n_dims == 1 ? 0 : t);
    const std::int32_t* ids = in[1].row<const std::int32_t>(t);
    float* y = out.row<float>(t);
    for (std::int64_t k = 0; k < out.cols(); ++k) {
      const bool inside = ids[k] >= 0 && ids[k] < x.cols();
      y[k] = inside ? row[ids[k]] : std::numeric_limits<float>::quiet_NaN();
    }
  }
}

constexpr OpInput kInputs[] = {{"x", Reach::row}, {"ids"}};

}  // namespace

const OpDef kGather{.name = "gather",
                    .inputs = kInputs,
                    .infer = infer,
                    .reference = reference,
                    .bound = exact,
                    .cuts = {.whole = true}};

Tensor gather(Tensor x, Tensor ids, SourceLine where) {
  return add_node(kGather, {x, ids}, {}, where);
}

}  // namespace weft
