// Step-3.5 Flash: layers with a window have more heads and a rope of their own, the others turn
// half of a head; a gate per head; experts whose gate and other half are limited in some layers.
// Source: StepFun 2026, https://huggingface.co/stepfun-ai/Step-3.5-Flash.

#include <cfloat>

#include "weft/arch/decoder.h"
#include "weft/ops/add.h"
#include "weft/ops/clamp.h"
#include "weft/ops/mul.h"

namespace weft {
namespace {

struct Step : Hparams {
  RopeAttrs local_rope = {};
  std::vector<float> limits = {}, shared_limits = {};  // by layer; 0: none
};

// silu(gate), at most the limit, times up, within both limits.
Tensor limited(Tensor gate, Tensor up, float limit) {
  Tensor g = act::silu(gate);
  if (limit > 0) {
    g = clamp(g, -FLT_MAX, limit);
    up = clamp(up, -limit, limit);
  }
  return mul(g, up);
}

float limit_of(const std::vector<float>& limits, const Layer& l) {
  const auto i = static_cast<std::size_t>(l.index);
  return i < limits.size() ? limits[i] : 0;
}

Tensor expert_unit(const Layer& l, Tensor gate, Tensor up) {
  return limited(gate, up, limit_of(static_cast<const Step&>(l.c).limits, l));
}
Tensor shared_unit(const Layer& l, Tensor gate, Tensor up) {
  return limited(gate, up, limit_of(static_cast<const Step&>(l.c).shared_limits, l));
}

Tensor ffn(const Layer& l, Tensor x) {
  if (!l.hparams().experts) return swiglu(l, x);
  return add(experts(l, x, route(l, x), expert_unit), shared_expert(l, x, shared_unit));
}

Decoder step35(const Step& c) {
  const Attention attention{.q_and_k = {norm_heads_if_present, rope_halves},
                            .output = {gate_by_sigmoid}};
  return {.rope = {.attrs = c.rope, .factors = true},
          .second_rope = {.attrs = c.local_rope},
          .layer = pre_norm_layer(attention, ffn)};
}

Step read(const Keys& keys) {
  Step c{read_hparams(keys)};
  read_experts(keys, c, {.gating = Gating::sigmoid, .normalize = false});
  read_windows(keys, c, 0);
  c.local_rope = read_local_rope(keys, c, 10000);
  c.rope.n_rot /= 2;
  c.limits = keys.source().find_floats(keys.name("swiglu_clamp_exp"));
  c.shared_limits = keys.source().find_floats(keys.name("swiglu_clamp_shexp"));
  return c;
}

}  // namespace

extern const Architecture kStep35;
constinit const Architecture kStep35 = decoder<step35, read>("step35");

}  // namespace weft
