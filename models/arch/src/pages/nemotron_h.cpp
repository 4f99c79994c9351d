// Nemotron H: every layer is a single residual, of an ffn if it has a width, of attention without
// rope if it has kv heads, of Mamba 2 otherwise. The ffn is relu squared without a gate, or experts
// of such ffns (Nemotron 3), which may work in a narrower space than the model. Sources: NVIDIA
// 2025, arXiv:2504.03624; https://huggingface.co/nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.

#include "weft/arch/decoder.h"
#include "weft/arch/mamba.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/rows/weighted_sum.h"

namespace weft::arch {
namespace {

struct NemotronH : MambaHparams {
  std::int64_t latent = 0;  // width of what experts compute with; 0: that of the model
};

// Experts and the shared expert of layers with a router, the ffn of the others.
Tensor relu_squared_ffn(const NemotronH& c, const Layer& l, Tensor x) {
  if (!l.hparams().experts) return Ffn{act::relu_squared, false}(l, x);
  const std::int64_t D = c.D, F = c.experts.F, shared = c.experts.shared_F;
  const ExpertChoice choice = router_choice(l, x);
  if (c.latent == 0) name_router(l, choice.ids, x);
  const Tensor in = c.latent > 0 ? project(l.w, "ffn_latent_down", c.latent, D, x) : x;
  Tensor y = act::relu_squared(project_experts(l, "ffn_up_exps", F, in, choice.ids));
  y = project_experts(l, "ffn_down_exps", in.shape()[1].bound, y, choice.ids);
  y = weighted_sum(y, choice.weights);
  if (c.latent > 0) y = project(l.w, "ffn_latent_up", D, c.latent, y);
  if (shared == 0) return y;
  const Tensor up = act::relu_squared(project(l.w, "ffn_up_shexp", shared, D, x));
  return add(y, project(l.w, "ffn_down_shexp", D, shared, up));
}

Block block_of(const NemotronH& c, const LayerHparams& layer) {
  if (layer.F > 0) return [&c](const Layer& l, Tensor x) { return relu_squared_ffn(c, l, x); };
  return layer.G > 0 ? Block(Attention{}) : Block(Mamba2{c.ssm});
}

Decoder nemotron_h(const NemotronH& c) {
  return {.layer_of = [&c](std::int64_t i) {
    return std::vector<Residual>{
        {.name = "block", .pre_norm = "attn_norm", .block = block_of(c, c.layer(i))}};
  }};
}

NemotronH read(const Keys& keys) {
  Hparams c = read_hparams(keys, {.min_H = 0, .min_G = 0, .min_F = 0});
  read_experts(keys, c, {.gating = Gating::sigmoid, .normalize = false});
  return {{c, read_state_space(keys, true)}, keys.size_or("moe_latent_size", 0, 1 << 20, 0)};
}

}  // namespace

extern const Architecture kNemotronH, kNemotronHMoe;
// A draft layer would be two of these layers, attention and experts.
constinit const Architecture kNemotronH = without_draft(decoder<nemotron_h, read>("nemotron_h"));
constinit const Architecture kNemotronHMoe =
    without_draft(decoder<nemotron_h, read>("nemotron_h_moe"));

}  // namespace weft::arch
