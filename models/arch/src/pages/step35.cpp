// Step-3.5 Flash: layers with a window have more heads and a rope of their own, the others turn
// half of a head; a gate per head; experts whose gate and other half are limited in some layers.
// Sources: StepFun 2026, https://huggingface.co/stepfun-ai/Step-3.5-Flash; of drafts: vLLM,
// step3p5_mtp.py.

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

struct Step : Hparams {
  RopeAttrs local_rope = {};
};

Tensor ffn(const Layer& l, Tensor x) {
  return l.hparams().experts ? limited_experts(l, x) : swiglu(l, x);
}

Decoder step35(const Step& c) {
  const Attention attention{.q_and_k = {norm_heads_if_present, rope_halves},
                            .output = {gate_by_sigmoid}};
  return {.rope = {.attrs = c.rope, .factors = true},
          .second_rope = {.attrs = c.local_rope},
          .layer = pre_norm_layer(attention, ffn),
          .draft = {.normed = false, .next_normed = false}};
}

Step read(const Keys& keys) {
  Step c{read_hparams(keys)};
  read_experts(keys, c, {.gating = Gating::sigmoid, .normalize = false});
  read_windows(keys, c, 0);
  c.local_rope = read_local_rope(keys, c, 10000);
  c.rope.n_rot /= 2;
  read_expert_limits(keys, c);
  return c;
}

}  // namespace

extern const Architecture kStep35;
constinit const Architecture kStep35 = decoder<step35, read>("step35");

}  // namespace weft::arch
