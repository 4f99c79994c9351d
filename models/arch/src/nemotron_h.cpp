// Nemotron H: every layer is a single residual, of an ffn if it has a width, of attention without
// rope if it has kv heads, of Mamba 2 otherwise. The ffn is relu squared without a gate. Source:
// NVIDIA 2025, arXiv:2504.03624.

#include "weft/arch/decoder.h"
#include "weft/arch/mamba.h"

namespace weft {
namespace {

Block block_of(const MambaHparams& c, const LayerHparams& layer) {
  if (layer.F > 0) return Ffn{act::relu_squared, false};
  return layer.G > 0 ? Block(Attention{}) : Block(Mamba2{c.ssm});
}

Decoder nemotron_h(const MambaHparams& c) {
  return {.layer_of = [&c](std::int64_t i) {
    return std::vector<Residual>{
        {.name = "block", .pre_norm = "attn_norm", .block = block_of(c, c.layer(i))}};
  }};
}

MambaHparams read(const Keys& keys) {
  return {read_usual<HparamsRules{.min_H = 0, .min_G = 0, .min_F = 0}>(keys),
          read_state_space(keys, true)};
}

}  // namespace

extern const Architecture kNemotronH;
constinit const Architecture kNemotronH = decoder<nemotron_h, read>("nemotron_h");

}  // namespace weft
