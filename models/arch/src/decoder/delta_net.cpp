#include "weft/arch/delta_net.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/exp.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/rows/scale_heads.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {
namespace {

// Far above every known model.
constexpr std::int64_t kMaxTaps = 256, kMaxStateWidth = 4096;

// x / |x| * factor of every head. Heads that are shorter than eps stay short: their length is taken
// as sqrt(|x|^2 + eps^2).
Tensor unit_length(Tensor x, float eps, float factor) {
  const float N = static_cast<float>(x.shape().last());
  return unit_heads(x, std::max(eps * eps / N, FLT_MIN), factor);
}

}  // namespace

Tensor convolve(const Layer& l, std::string_view name, std::int64_t taps, Tensor x) {
  const std::int64_t C = x.shape()[1].bound;
  return short_convolution(l, name, x, l.w.squeezed(std::string(name) + ".weight", {C, taps}));
}

Tensor delta_attention(const Layer& l, const DeltaStep& step) {
  const std::int64_t H = step.q.shape()[1].bound, N = step.q.shape()[2].bound;
  const Tensor q = unit_length(step.q, l.c.eps, 1 / std::sqrt(static_cast<float>(N)));
  const Tensor k = unit_length(step.k, l.c.eps, 1);
  const bool by_head = step.decay.shape().n_dims() == 2;
  const Tensor faded_k = by_head ? scale_heads(k, step.decay) : mul(k, step.decay);
  const Tensor added_k = scale_heads(k, step.beta);
  const Recurrent state =
      l.in.memory.recurrent(fmt::format("delta.{}", l.index), {H, N, step.v.shape()[2].bound});
  return state.delta_rule({.q = q,
                           .k = added_k,
                           .v = step.v,
                           .decay = step.decay,
                           .remove = faded_k,
                           .write = scale(added_k, -1)});
}

namespace {

// Two matrices with nothing between them, or one if the file has no NAME_b.
Tensor low_rank(const Layer& l, std::string_view name, std::int64_t N, std::int64_t rank,
                Tensor x) {
  const std::string a = std::string(name) + "_a", b = std::string(name) + "_b";
  if (!l.w.has(b + ".weight")) return project(l.w, a, N, l.c.D, x);
  return project(l.w, b, N, rank, project(l.w, a, rank, l.c.D, x));
}

}  // namespace

Tensor ChannelDeltaNet::operator()(const Layer& l, Tensor x) const {
  const std::int64_t H = l.hparams().H, width = H * N;
  const auto heads = [&](std::string_view convolution, Tensor y) {
    return split_heads(convolve(l, convolution, taps, y), H);
  };
  const Heads rows = project_rows(l, x, width, width, width);
  DeltaStep step;
  step.q = heads("ssm_conv1d_q", rows.q);
  step.k = heads("ssm_conv1d_k", rows.k);
  step.v = heads("ssm_conv1d_v", rows.v);
  const Tensor z = add(low_rank(l, "ssm_f", width, N, x), l.w("ssm_dt.bias", {width}));
  step.decay = exp(log_decay(split_heads(z, H), l.w.squeezed("ssm_a", {H, 1})));
  step.beta = act::sigmoid(project(l.w, "ssm_beta", H, l.c.D, x));
  const Tensor y = norm(l.w, "ssm_norm", l.c, delta_attention(l, step));
  const Tensor gate = l.w.has("ssm_g.weight") ? project(l.w, "ssm_g", width, l.c.D, x)
                                              : low_rank(l, "ssm_g", width, N, x);
  const Tensor gated = mul(y, split_heads(act::sigmoid(gate), H));
  return project(l.w, "attn_output", l.c.D, width, merge_heads(gated));
}

ChannelDeltaNet read_channel_delta_net(const Keys& keys) {
  return {.N = read_state_width(keys, "kda.head_dim"),
          .taps = read_taps(keys, "ssm.conv_kernel"),
          .log_decay = {}};
}

std::int64_t read_taps(const Keys& keys, std::string_view key) {
  const std::int64_t taps = keys.count(key, kMaxTaps);
  if (taps < 2) keys.refuse(key, taps, fmt::format("2..{}", kMaxTaps));
  return taps;
}

std::int64_t read_state_width(const Keys& keys, std::string_view key) {
  return keys.count(key, kMaxStateWidth);
}

}  // namespace weft::arch
