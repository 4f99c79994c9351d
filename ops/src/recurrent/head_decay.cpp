#include "weft/ops/recurrent/head_decay.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const auto& a = attrs.as<HeadDecayAttrs>();
  if (a.heads < 1) fail<ValueError>("heads must be at least 1, got {}", a.heads);
  expect_positive("rate", a.rate);
  expect_dtype("pos", in[0], i32);
  expect_form(in[0].shape.n_dims() == 1, "pos", in[0], "[T]");
  return {f32, {in[0].shape[0], a.heads}};
}

// The logarithm of y.
double exponent(const HeadDecayAttrs& a, std::int64_t h) {
  return -a.rate * std::exp2(-8 * static_cast<double>(h + 1) / a.heads);
}

template <class F>
void by_head(View out, F value) {
  for (std::int64_t h = 0; h < out.cols(); ++h) {
    const float y = value(h);
    for (std::int64_t t = 0; t < out.rows(); ++t) out.row<float>(t)[h] = y;
  }
}

void reference(const Attrs& attrs, Views, View out) {
  const auto& a = attrs.as<HeadDecayAttrs>();
  by_head(out, [&](std::int64_t h) { return head_decay_factor(a, h); });
}

// The exponent is a product, a quotient and a power good to 2 ulp, whose own exponent is at most 8;
// then an exp good to 2 ulp.
void bound(const Attrs& attrs, Views, View bounds) {
  const auto& a = attrs.as<HeadDecayAttrs>();
  by_head(bounds, [&](std::int64_t h) {
    const double x = exponent(a, h);
    return bound_up(std::exp(x) * (rounding(4) + rounding(24) * std::fabs(x)) + kFlushed);
  });
}

constexpr OpInput kInputs[] = {{"pos", Reach::all}};

}  // namespace

float head_decay_factor(const HeadDecayAttrs& attrs, std::int64_t h) {
  return static_cast<float>(std::exp(exponent(attrs, h)));
}

const OpDef kHeadDecay{.name = "head_decay",
                       .inputs = kInputs,
                       .attrs = &kAttrsType<HeadDecayAttrs>,
                       .infer = infer,
                       .reference = reference,
                       .bound = bound,
                       .cuts = {.whole = true}};

Tensor head_decay(Tensor pos, const HeadDecayAttrs& attrs, SourceLine where) {
  return add_node(kHeadDecay, {pos}, attrs, where);
}

}  // namespace weft
