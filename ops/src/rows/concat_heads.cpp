#include "weft/ops/rows/concat_heads.h"

#include <algorithm>

#include "weft/ops/cuts.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &a = in[0], &b = in[1];
  expect_dtype("a", a, f32);
  expect_form(a.shape.n_dims() == 3, "a", a, "[T, H, A]");
  expect_dtype("b", b, f32);
  const bool fits = b.shape.n_dims() == 3 && b.shape[0] == a.shape[0] &&
                    (b.shape[1] == a.shape[1] || b.shape[1].bound == 1);
  expect_form(fits, "b", b, "[{0}, {1}, B] or [{0}, 1, B]", to_string(a.shape[0]),
              to_string(a.shape[1]));
  return {f32, {a.shape[0], a.shape[1], a.shape.last() + b.shape.last()}};
}

void reference(const Attrs&, Views in, View out) {
  const std::int64_t na = in[0].dim(2), nb = in[1].dim(2);
  const bool shared = in[1].dim(1) == 1;
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    const float *a = in[0].row<const float>(t), *b = in[1].row<const float>(t);
    for (std::int64_t h = 0; h < out.dim(1); ++h) {
      float* y = out.row<float>(t) + h * (na + nb);
      std::copy_n(a + h * na, na, y);
      std::copy_n(b + (shared ? 0 : h * nb), nb, y + na);
    }
  }
}

constexpr OpInput kInputs[] = {{"a", Reach::row}, {"b", Reach::row}};

}  // namespace

const OpDef kConcatHeads{.name = "concat_heads",
                         .inputs = kInputs,
                         .infer = infer,
                         .reference = reference,
                         .bound = exact,
                         .col_granule = last_dimension,
                         .cuts = {.inputs = cut_by_heads},
                         .positions = Positions::concat};

Tensor concat_heads(Tensor a, Tensor b, SourceLine where) {
  return add_node(kConcatHeads, {a, b}, {}, where);
}

}  // namespace weft
