#include "weft/ops/attention/attention_temperature.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const TensorSpec &x = in[0], &pos = in[1];
  const auto& a = attrs.as<TemperatureAttrs>();
  expect_dtype("x", x, f32);
  expect_form(x.shape.n_dims() >= 2, "x", x, "[T, ..]");
  expect_dtype("pos", pos, i32);
  expect_shape("pos", pos, {x.shape[0]});
  expect_finite("scale", a.scale);
  expect_positive("length", a.length);
  if (a.offset < 0) fail<ValueError>("offset must be at least 0, got {}", a.offset);
  return x;
}

double factor_at(const TemperatureAttrs& a, std::int64_t pos) {
  const std::int64_t steps = (pos + a.offset) / a.length;
  return 1 + a.scale * std::log(static_cast<double>(steps + 1));
}

template <class F>
void for_each(const Attrs& attrs, Views in, View out, F f) {
  const auto& a = attrs.as<TemperatureAttrs>();
  const std::int32_t* pos = in[1].row<const std::int32_t>(0);
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    const float* x = in[0].row<const float>(t);
    const double factor = factor_at(a, pos[t]);
    for (std::int64_t c = 0; c < out.cols(); ++c) out.row<float>(t)[c] = f(x[c], factor);
  }
}

void reference(const Attrs& attrs, Views in, View out) {
  for_each(attrs, in, out, [](double x, double factor) { return static_cast<float>(x * factor); });
}

// A logarithm good to 2 ulp, a product and a sum that may cancel if scale is negative, a product.
void bound(const Attrs& attrs, Views in, View bounds) {
  for_each(attrs, in, bounds, [](double x, double factor) {
    return bound_up(std::fabs(x) * rounding(8) * (2 + std::fabs(factor)) + kFlushed);
  });
}

Cuts cut_x(const Attrs&, Specs, const TensorSpec&, const Cut& cut) {
  return Cuts({cut, Cut{}});
}

constexpr OpInput kInputs[] = {{"x"}, {"pos", Reach::all}};

}  // namespace

const OpDef kAttentionTemperature{.name = "attention_temperature",
                                  .inputs = kInputs,
                                  .attrs = &kAttrsType<TemperatureAttrs>,
                                  .infer = infer,
                                  .reference = reference,
                                  .bound = bound,
                                  .in_place_over = 0,
                                  .cuts = {.inputs = cut_x},
                                  .positions = Positions::scale};

Tensor attention_temperature(Tensor x, Tensor pos, const TemperatureAttrs& attrs,
                             SourceLine where) {
  return add_node(kAttentionTemperature, {x, pos}, attrs, where);
}

}  // namespace weft
