#include "weft/ops/projections/linear.h"

#include "weft/ops/elementwise/add.h"

#include "projections/projection.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &x = in[0], &w = in[1], &bias = in[2], &residual = in[3];
  expect_matrix("w", w, expect_projected(x));
  const TensorSpec out{f32, {x.shape[0], w.shape[0]}};
  if (bias.present()) {
    expect_dtype("bias", bias, f32);
    expect_shape("bias", bias, {w.shape[0]});
  }
  if (residual.present()) {
    expect_dtype("residual", residual, f32);
    expect_shape("residual", residual, out.shape);
  }
  return out;
}

double bias_at(const View& bias, std::int64_t n) {
  return bias ? bias.row<const float>(0)[n] : 0;
}
double residual_at(const View& residual, std::int64_t t, std::int64_t n) {
  return residual ? residual.row<const float>(t)[n] : 0;
}

void reference(const Attrs&, Views in, View out) {
  project(in[0], in[1], [&](std::int64_t t, std::int64_t n, double sum) {
    const double y = sum + bias_at(in[2], n) + residual_at(in[3], t, n);
    out.row<float>(t)[n] = static_cast<float>(y);
  });
}

// The error of the sum, plus three roundings when bias and residual are added.
void bound(const Attrs&, Views in, View bounds) {
  project_bound(in[0], in[1], [&](std::int64_t t, std::int64_t n, double sum, double error) {
    const double total =
        std::fabs(sum) + error + std::fabs(bias_at(in[2], n)) + std::fabs(residual_at(in[3], t, n));
    bounds.row<float>(t)[n] = bound_up(error + rounding(3) * total);
  });
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in, out, extents, elems_at(out, extents) * in[1].shape[1].bound);
}

Tensor definition(const Attrs&, std::span<const Tensor> in) {
  const Tensor y = linear(in[0], in[1], in[2]);
  return in[3] ? add(in[3], y) : y;
}

Cuts cut_rows(const Attrs&, Specs in, const TensorSpec&, const Cut& cut) {
  if (cut.axis != 1) return std::nullopt;
  std::vector<Cut> cuts{Cut{}, cut.moved(0), Cut{}, Cut{}};
  if (in[2].present()) cuts[2] = cut.moved(0);
  if (in[3].present()) cuts[3] = cut;
  return cuts;
}

Cuts cut_terms(const Attrs&, Specs, const TensorSpec&, const Cut& cut) {
  return cut.axis == 1 ? Cuts({cut, cut.moved(1), Cut{}, Cut{}}) : std::nullopt;
}

constexpr OpInput kInputs[] = {
    {"x", Reach::row},
    {.name = "w", .reach = Reach::all, .use = InputUse::matrix},
    {.name = "bias", .reach = Reach::same, .optional = true, .use = InputUse::addend},
    {.name = "residual", .reach = Reach::same, .optional = true, .use = InputUse::addend}};

}  // namespace

const OpDef kLinear{.name = "linear",
                    .inputs = kInputs,
                    .named_after = 1,
                    .infer = infer,
                    .reference = reference,
                    .bound = bound,
                    .cost = cost,
                    .in_place_over = 3,
                    .definition = definition,
                    .cuts = {.inputs = cut_rows, .terms = cut_terms}};

Tensor linear(Tensor x, Tensor w, Tensor bias, SourceLine where) {
  return add_node(kLinear, {x, w, bias}, {}, where);
}

}  // namespace weft
