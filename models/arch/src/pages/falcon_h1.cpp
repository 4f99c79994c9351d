// Falcon H1: attention and Mamba 2 side by side behind one norm, then an ffn. The multipliers of
// the paper are in the weights of the files. Source: Zuo et al. 2025, arXiv:2507.22448.

#include "weft/arch/decoder.h"
#include "weft/arch/mamba.h"

namespace weft::arch {
namespace {

struct FalconH1 : MambaHparams {
  std::optional<float> attention_scale;
};

Decoder falcon_h1(const FalconH1& c) {
  const Attention attention{.q_and_k = {rope_halves}, .scale = c.attention_scale};
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(side_by_side(attention, Mamba2{c.ssm}), swiglu)};
}

FalconH1 read(const Keys& keys) {
  FalconH1 c{{read_usual<>(keys), read_state_space(keys, true)}, {}};
  const float scale = keys.number_or("attention.scale", 0, 1e6, 0);
  if (scale > 0) c.attention_scale = scale;
  return c;
}

}  // namespace

extern const Architecture kFalconH1;
constinit const Architecture kFalconH1 = decoder<falcon_h1, read>("falcon-h1");

}  // namespace weft::arch
