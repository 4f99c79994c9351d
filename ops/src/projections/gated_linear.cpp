#include "weft/ops/projections/gated_linear.h"

#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/projections/linear.h"

#include "projections/projection.h"

namespace weft {

using namespace ops;

namespace {

// One activation: its name, its function, its error for an exact argument, its maximum slope, and
// its op.
struct ActivationRow {
  std::string_view name;
  double (*apply)(double x);
  double (*error)(double y);
  double slope;
  Tensor (*node)(Tensor x);
};

// In the order of the enum.
constexpr ActivationRow kActivations[] = {
    {.name = "silu",
     .apply = silu_of,
     .error = silu_error,
     .slope = 1.1,
     .node = [](Tensor x) { return silu(x); }},
};

const ActivationRow& row_of(Activation a) {
  return kActivations[static_cast<std::size_t>(a)];
}
const ActivationRow& row_of(const Attrs& attrs) {
  return row_of(attrs.as<GatedLinearAttrs>().act);
}

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &x = in[0], &gate = in[1], &up = in[2];
  const std::int64_t k = expect_projected(x);
  expect_matrix("gate", gate, k);
  expect_format("up", up);
  expect_shape("up", up, gate.shape);
  return {f32, {x.shape[0], gate.shape[0]}};
}

void reference(const Attrs& attrs, Views in, View out) {
  const ActivationRow& act = row_of(attrs);
  const std::size_t width = static_cast<std::size_t>(out.cols());
  std::vector<double> gate(static_cast<std::size_t>(out.rows()) * width);
  const auto at = [&](std::int64_t t, std::int64_t n) -> double& {
    return gate[static_cast<std::size_t>(t) * width + static_cast<std::size_t>(n)];
  };
  project(in[0], in[1], [&](std::int64_t t, std::int64_t n, double sum) { at(t, n) = sum; });
  project(in[0], in[2], [&](std::int64_t t, std::int64_t n, double sum) {
    out.row<float>(t)[n] = static_cast<float>(act.apply(at(t, n)) * sum);
  });
}

// a * u with a = act(g): the error of g grows by the slope of act, then the errors of both factors
// combine in the product, which is rounded once.
void bound(const Attrs& attrs, Views in, View bounds) {
  const ActivationRow& act = row_of(attrs);
  struct Factor {
    double value, error;
  };
  const std::size_t width = static_cast<std::size_t>(bounds.cols());
  std::vector<Factor> gate(static_cast<std::size_t>(bounds.rows()) * width);
  const auto at = [&](std::int64_t t, std::int64_t n) -> Factor& {
    return gate[static_cast<std::size_t>(t) * width + static_cast<std::size_t>(n)];
  };
  project_bound(in[0], in[1], [&](std::int64_t t, std::int64_t n, double sum, double error) {
    const double a = act.apply(sum);
    const double moved = act.slope * error;
    at(t, n) = {a, moved + act.error(std::fabs(a) + moved)};
  });
  project_bound(in[0], in[2], [&](std::int64_t t, std::int64_t n, double up, double error) {
    const auto [a, a_error] = at(t, n);
    const double largest = (std::fabs(a) + a_error) * (std::fabs(up) + error);
    const double product = largest - std::fabs(a) * std::fabs(up);
    bounds.row<float>(t)[n] = bound_up(product + rounding(3) * largest + kFlushed);
  });
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in, out, extents, 2 * elems_at(out, extents) * in[1].shape[1].bound);
}

Tensor definition(const Attrs& attrs, std::span<const Tensor> in) {
  return mul(row_of(attrs).node(linear(in[0], in[1])), linear(in[0], in[2]));
}

constexpr OpInput kInputs[] = {{"x", Reach::row},
                               {.name = "gate", .reach = Reach::all, .use = InputUse::matrix},
                               {.name = "up", .reach = Reach::all, .use = InputUse::matrix}};

}  // namespace

const OpDef kGatedLinear{.name = "gated_linear",
                         .inputs = kInputs,
                         .attrs = &kAttrsType<GatedLinearAttrs>,
                         .infer = infer,
                         .reference = reference,
                         .bound = bound,
                         .cost = cost,
                         .definition = definition};

std::string_view to_string(Activation a) {
  return row_of(a).name;
}

}  // namespace weft
