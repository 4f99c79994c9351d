// Jamba: Mamba in layers without kv heads, attention without rope in the others; an ffn, or experts
// in layers whose file has a router. Source: Lieber et al. 2024, arXiv:2403.19887.

#include "weft/arch/decoder.h"
#include "weft/arch/mamba.h"

namespace weft::arch {
namespace {

Decoder jamba(const MambaHparams& c) {
  return {.layer_of = [&c](std::int64_t i) {
    return pre_norm_layer(c.layer(i).G > 0 ? Block(Attention{}) : Block(Mamba{c.ssm}), Moe{});
  }};
}

MambaHparams read(const Keys& keys) {
  Hparams c = read_hparams(keys, {.min_H = 0, .min_G = 0});
  read_experts(keys, c, {.normalize = false, .width = ExpertWidth::own_or_ffn});
  for (std::size_t i = 0; i < c.layers.size(); ++i) {
    const std::string router = fmt::format("blk.{}.ffn_gate_inp.weight", i);
    c.layers[i].experts = c.layers[i].experts && keys.source().find_tensor(router);
  }
  return {c, read_state_space(keys, false)};
}

}  // namespace

extern const Architecture kJamba;
constinit const Architecture kJamba = decoder<jamba, read>("jamba");

}  // namespace weft::arch
