// Kimi K3: as Kimi Linear, with a residual stream that restarts every few layers; every block reads
// a mixture of the stream and of what it was before each restart. Experts work in a latent width,
// gates and values of all ffns are bounded by tanh, and the decay of KDA has a lower bound.
// Source: https://huggingface.co/moonshotai/Kimi-K3.

#include <cmath>

#include "weft/arch/decoder.h"
#include "weft/arch/delta_net.h"
#include "weft/arch/latent_attention.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/norms/softmax.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/rows/concat.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/views.h"
#include "weft/ops/rows/weighted_sum.h"

namespace weft::arch {
namespace {

struct K3 : Hparams {
  LatentHparams latent = {};
  ChannelDeltaNet delta = {};
  std::int64_t restart_every = 0;      // layers; 0: never
  float gate_limit = 1, up_limit = 0;  // up_limit 0: none
  std::int64_t expert_width = 0;       // width of the experts' input; 0: D
};

// sigmoid(gate) * softcap(gate) * softcap(up)
Tensor unit(const Layer& l, Tensor gate, Tensor up) {
  const auto& c = l.config<K3>();
  const Tensor y = mul(softcap(gate, c.gate_limit), act::sigmoid(gate));
  return mul(y, c.up_limit > 0 ? softcap(up, c.up_limit) : up);
}

Tensor ffn(const Layer& l, Tensor x) {
  if (!l.hparams().experts) return gated_ffn(l, x, unit);
  const std::int64_t D = l.c.D, width = l.config<K3>().expert_width;
  const Tensor narrow = width > 0 ? project(l.w, "ffn_routed_down", width, D, x) : x;
  Tensor y = experts(l, narrow, router_choice(l, x), unit);
  if (l.w.has("ffn_routed_norm.weight")) y = norm(l.w, "ffn_routed_norm", l.c, y);
  if (width > 0) y = project(l.w, "ffn_routed_up", D, width, y);
  return l.c.experts.shared_F > 0 ? add(y, shared_expert(l, x, unit)) : y;
}

Tensor gate_if_present(const Layer& l, Tensor x, Tensor y) {
  return l.w.has("attn_gate.weight") ? gate_by_sigmoid(l, x, y) : y;
}

Tensor mixer(const Layer& l, Tensor x) {
  const auto& c = l.config<K3>();
  if (l.hparams().G == 0) return c.delta(l, x);
  return LatentAttention{.n = c.latent, .rope = nullptr, .output = {gate_if_present}}(l, x);
}

// The residual stream, and its values before each restart.
class Stream {
 public:
  explicit Stream(Tensor h) : h_(h) {}

  // The values so far, weighted by the softmax of their scores, norm(value) . NAME.weight.
  Tensor mixed(const Weights& w, const Hparams& c, std::string_view name) const {
    if (earlier_.empty()) return h_;
    const Tensor score = merge_heads(w(std::string(name) + ".weight", {c.D}));  // [1, D]
    std::vector<Tensor> values = earlier_, scores;
    values.push_back(h_);
    for (const Tensor value : values) scores.push_back(linear(rms_norm(value, c.eps), score));
    const auto n = static_cast<std::int64_t>(values.size());
    return weighted_sum(split_heads(concat(values), n), softmax(concat(scores)));
  }
  void restart() {
    earlier_.push_back(h_);
    h_ = {};
  }
  void add_to(Tensor y) { h_ = h_ ? add(h_, y) : y; }

 private:
  Tensor h_;                     // [T, D]; none between a restart and the next block
  std::vector<Tensor> earlier_;  // [T, D] each
};

Tensor build(const Weights& w, const K3& c, const Inputs& in) {
  const Tensor embd = w("token_embd.weight", {c.V, c.D});
  Stream stream(get_rows(embd, in.tokens));
  for (std::int64_t i = 0; i < c.L; ++i) {
    const Weights blk = w.block(i);
    const Layer l{blk, c, in, i, {}};
    if (i == 0) blk.ignore("attn_res_score.weight");  // there is nothing to mix yet
    const Tensor x = stream.mixed(blk, c, "attn_res_score");
    if (c.restart_every > 0 && i % c.restart_every == 0) stream.restart();
    stream.add_to(mixer(l, norm(blk, "attn_norm", c, x)));
    stream.add_to(ffn(l, norm(blk, "ffn_norm", c, stream.mixed(blk, c, "ffn_res_score"))));
  }
  return head(w, c, stream.mixed(w, c, "output_res_score"), embd, in);
}

K3 read(const Keys& keys) {
  K3 c{read_hparams(keys, {.min_G = 0})};
  c.latent = read_latent(keys, c);
  c.delta = read_channel_delta_net(keys);
  const auto bound = keys.find_number("kda.gate_lower_bound", -1e6, 0);
  c.delta.log_decay = [bound](Tensor z, Tensor a) {
    return bound ? scale(act::sigmoid(scale(mul(z, a), -1)), *bound) : mul(act::softplus(z), a);
  };
  read_experts(keys, c, {.gating = Gating::sigmoid, .normalize = false, .required = true});
  c.expert_width = keys.size_or("expert_latent_length", 0, 1 << 24, 0);
  c.restart_every = keys.size_or("attn_res.block_size", 0, 1 << 16, 0);
  c.gate_limit = keys.number_or("activation.situ_beta", 1e-3, 1e6, 1);
  c.up_limit = keys.number_or("activation.situ_linear_beta", 0, 1e6, 0);
  return c;
}

}  // namespace

extern const Architecture kKimiK3;
constinit const Architecture kKimiK3 = architecture<build, read>("kimi-k3");

}  // namespace weft::arch
