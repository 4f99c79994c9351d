// The activations of blocks.h: ops without their source location, and what is made of two.
#include <cfloat>

#include "weft/arch/blocks.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/clamp.h"
#include "weft/ops/elementwise/gelu.h"
#include "weft/ops/elementwise/gelu_erf.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/relu.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/elementwise/sigmoid.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/elementwise/softplus.h"

namespace weft::arch::act {

Tensor silu(Tensor x) {
  return weft::silu(x);
}
Tensor gelu(Tensor x) {
  return weft::gelu(x);
}
Tensor gelu_erf(Tensor x) {
  return weft::gelu_erf(x);
}
Tensor relu(Tensor x) {
  return weft::relu(x);
}
Tensor relu_squared(Tensor x) {
  const Tensor y = weft::relu(x);
  return mul(y, y);
}
Tensor sigmoid(Tensor x) {
  return weft::sigmoid(x);
}
Tensor softplus(Tensor x) {
  return weft::softplus(x);
}

}  // namespace weft::arch::act

namespace weft::arch::unit {
namespace {

Tensor swiglu_of(const Layer&, Tensor gate, Tensor up) {
  return mul(weft::silu(gate), up);
}
Tensor geglu_of(const Layer&, Tensor gate, Tensor up) {
  return mul(weft::gelu(gate), up);
}
Tensor reglu_of(const Layer&, Tensor gate, Tensor up) {
  return mul(weft::relu(gate), up);
}
Tensor gelu_of(const Layer&, Tensor, Tensor up) {
  return weft::gelu(up);
}
Tensor clamped_swiglu_of(const Layer&, Tensor gate, Tensor up) {
  constexpr float kLimit = 7, kSlope = 1.702f, kNone = -FLT_MAX;
  const Tensor g = clamp(gate, kNone, kLimit);
  const Tensor u = clamp(up, -kLimit, kLimit);
  const Tensor y = mul(g, weft::sigmoid(scale(g, kSlope)));
  return add(mul(y, u), y);
}

Tensor limited(const Layer& l, const std::vector<float>& limits, Tensor gate, Tensor up) {
  const auto i = static_cast<std::size_t>(l.index);
  const float limit = i < limits.size() ? limits[i] : 0;
  const Tensor g = weft::silu(gate);
  return limit > 0 ? mul(clamp(g, -FLT_MAX, limit), clamp(up, -limit, limit)) : mul(g, up);
}

Tensor limited_swiglu_of(const Layer& l, Tensor gate, Tensor up) {
  return limited(l, l.c.experts.limits, gate, up);
}

Tensor limited_shared_swiglu_of(const Layer& l, Tensor gate, Tensor up) {
  return limited(l, l.c.experts.shared_limits, gate, up);
}

}  // namespace

constinit const Unit swiglu = swiglu_of, geglu = geglu_of, reglu = reglu_of;
constinit const Unit gelu{gelu_of, false};
constinit const Unit clamped_swiglu = clamped_swiglu_of;
constinit const Unit limited_swiglu = limited_swiglu_of;
constinit const Unit limited_shared_swiglu = limited_shared_swiglu_of;

}  // namespace weft::arch::unit
