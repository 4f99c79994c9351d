// Kimi Linear: three of four layers are delta nets with a decay per channel (KDA), the others
// latent attention without rope; dense first layers, then experts and a shared one.
// Source: Kimi Team 2025, arXiv:2510.26692.

#include "weft/arch/decoder.h"
#include "weft/arch/delta_net.h"
#include "weft/arch/latent_attention.h"
#include "weft/ops/mul.h"

namespace weft {
namespace {

struct Kimi : Hparams {
  LatentHparams latent = {};
  ChannelDeltaNet delta = {};
};

Decoder kimi(const Kimi& c) {
  return {.layer_of = [&c](std::int64_t i) {
    const LatentAttention attention{.n = c.latent, .rope = nullptr};
    const Block mixer = c.layer(i).G == 0 ? Block(c.delta) : Block(attention);
    return pre_norm_layer(mixer, Moe{});
  }};
}

Kimi read(const Keys& keys) {
  Kimi c{read_hparams(keys, {.min_G = 0})};
  c.latent = read_latent(keys, c);
  c.delta = read_channel_delta_net(keys);
  c.delta.log_decay = [](Tensor z, Tensor a) { return mul(act::softplus(z), a); };
  read_experts(keys, c, {.gating = Gating::sigmoid, .required = true});
  return c;
}

}  // namespace

extern const Architecture kKimiLinear;
constinit const Architecture kKimiLinear = decoder<kimi, read>("kimi-linear");

}  // namespace weft
