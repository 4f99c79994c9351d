// Kimi Linear: three of four layers are delta nets with a decay per channel (KDA), the others
// latent attention without rope; dense first layers, then experts and a shared one. Ling 3 is the
// same with rope, a gate per head, a lower bound of the decay, and limits of what ffns multiply.
// Sources: Kimi Team 2025, arXiv:2510.26692; https://huggingface.co/inclusionAI.

#include "weft/arch/decoder.h"
#include "weft/arch/delta_net.h"
#include "weft/arch/latent_attention.h"
#include "weft/base/error.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/scale.h"

namespace weft::arch {
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

Tensor limited_ffn(const Layer& l, Tensor x) {
  return l.hparams().experts ? limited_experts(l, x) : gated_ffn(l, x, unit::limited_shared_swiglu);
}

Decoder ling(const Kimi& c) {
  return {.rope = {.attrs = c.rope}, .layer_of = [&c](std::int64_t i) {
            const LatentAttention attention{.n = c.latent, .output = {gate_by_sigmoid}};
            const Block mixer = c.layer(i).G == 0 ? Block(c.delta) : Block(attention);
            return pre_norm_layer(mixer, limited_ffn);
          }};
}

Kimi read(const Keys& keys, bool normalize) {
  Kimi c{read_hparams(keys, {.min_G = 0})};
  c.latent = read_latent(keys, c);
  c.delta = read_channel_delta_net(keys);
  read_experts(keys, c, {.gating = Gating::sigmoid, .normalize = normalize, .required = true});
  return c;
}

Kimi read_kimi(const Keys& keys) {
  Kimi c = read(keys, true);
  c.delta.log_decay = [](Tensor z, Tensor a) { return mul(act::softplus(z), a); };
  return c;
}

Kimi read_ling(const Keys& keys) {
  Kimi c = read(keys, false);
  if (!keys.flag_or("kda.safe_gate", true))
    fail<UnsupportedError>("{}: a decay without a lower bound ({} is false) is not supported",
                           keys.source().file(), keys.name("kda.safe_gate"));
  const float bound = keys.number("kda.gate_lower_bound", -1e6, 0);
  c.delta.log_decay = [bound](Tensor z, Tensor a) { return scale(act::sigmoid(mul(z, a)), bound); };
  read_expert_limits(keys, c);
  return c;
}

}  // namespace

extern const Architecture kKimiLinear, kBailingMoe3;
constinit const Architecture kKimiLinear = decoder<kimi, read_kimi>("kimi-linear");
constinit const Architecture kBailingMoe3 = decoder<ling, read_ling>("bailingmoe3");

}  // namespace weft::arch
