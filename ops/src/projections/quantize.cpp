#include "weft/ops/projections/quantize.h"

#include "weft/ops/formats/q8a.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec& x = in[0];
  expect_dtype("x", x, f32);
  expect_form(x.shape.n_dims() >= 2, "x", x, "[T, .., K]");
  const std::int64_t block = q8a.block_elems();
  expect_form(x.shape.last() % block == 0, "x", x, "[T, .., K] with K a multiple of {}", block);
  return {q8a, x.shape};
}

void reference(const Attrs&, Views in, View out) {
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    kQ8AFormat.encode(in[0].row<const float>(r), out.row<std::byte>(r), out.cols());
  }
}

// The bound of the decoded values. The scale may be off by 4 roundings (a reciprocal instead of a
// division); a code may be the neighbouring one if x / d is that close to the midpoint of two
// codes.
void bound(const Attrs&, Views in, View bounds) {
  constexpr double kSlack = 4 * 0x1p-24;
  const std::int64_t block = q8a.block_elems();
  for (std::int64_t r = 0; r < bounds.rows(); ++r) {
    const float* x = in[0].row<const float>(r);
    float* b = bounds.row<float>(r);
    for (std::int64_t begin = 0; begin < bounds.cols(); begin += block) {
      float amax = 0;
      for (std::int64_t i = begin; i < begin + block; ++i) amax = std::fmax(amax, std::fabs(x[i]));
      const double d = amax / 127;
      for (std::int64_t i = begin; i < begin + block; ++i) {
        const double code = d != 0 ? std::fabs(x[i]) / d : 0;
        const double from_middle = std::fabs(code - std::floor(code) - 0.5);
        const double flip = from_middle <= kSlack * code ? d : 0;
        b[i] = bound_up(kSlack * d * (code + 1) + flip + kFlushed);
      }
    }
  }
}

std::int64_t granule(const Attrs&, Specs, const TensorSpec&) {
  return q8a.block_elems();
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kQuantize{.name = "quantize",
                      .inputs = kInputs,
                      .infer = infer,
                      .reference = reference,
                      .bound = bound,
                      .col_granule = granule};

Tensor quantize(Tensor x, SourceLine where) {
  return add_node(kQuantize, {x}, {}, where);
}

}  // namespace weft
