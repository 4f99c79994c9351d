#include "weft/arch/mamba.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/exp.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/elementwise/softplus.h"
#include "weft/ops/rows/scale_heads.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {
namespace {

constexpr std::int64_t kMaxTaps = 64, kMaxChannels = 1 << 20, kMaxStates = 1 << 12;

Recurrent state_of(const Layer& l, std::string_view name, const Shape& shape) {
  return l.in.memory.recurrent(fmt::format("{}.{}", name, l.index), shape);
}

// NAME_norm if the file has it, a norm without a weight if `always`.
Tensor normed(const Layer& l, std::string_view name, bool always, Tensor x) {
  const std::string norm_name = std::string(name) + "_norm";
  if (l.w.has(norm_name) || l.w.has(norm_name + ".weight")) return norm(l.w, norm_name, l.c, x);
  return always ? norm(l.w, kNoWeight, l.c, x) : x;
}

}  // namespace

StateSpace read_state_space(const Keys& keys, bool heads) {
  StateSpace s;
  constexpr std::string_view kTaps = "ssm.conv_kernel";
  const auto taps = [&] { return keys.size_or(kTaps, 2, kMaxTaps, 0); };
  s.K = taps();
  if (s.K == 0 && !keys.source().make_up(keys.name(kTaps))) keys.missing(kTaps);
  if (s.K == 0) s.K = taps();
  s.I = keys.count("ssm.inner_size", kMaxChannels);
  s.N = keys.count("ssm.state_size", kMaxStates);
  s.dt_rank = keys.count("ssm.time_step_rank", kMaxChannels);
  s.norm_dt_b_c = keys.flag_or("ssm.dt_b_c_rms", false);
  if (!heads) return s;
  if (s.I % s.dt_rank != 0)
    keys.refuse("ssm.time_step_rank", s.dt_rank, fmt::format("a divisor of {}", s.I));
  s.G = std::max<std::int64_t>(keys.size_or("ssm.group_count", 0, s.dt_rank, 1), 1);
  if (s.dt_rank % s.G != 0)
    keys.refuse("ssm.group_count", s.G, fmt::format("a divisor of the {} heads", s.dt_rank));
  return s;
}

Tensor ssm_convolution(const Layer& l, std::int64_t taps, Tensor x) {
  const std::int64_t width = x.shape()[1].bound;
  const Tensor w = l.w("ssm_conv1d.weight", {width, taps});
  return short_convolution(l, "conv", x, w, l.w.optional("ssm_conv1d.bias", {width}));
}

Tensor Mamba::operator()(const Layer& l, Tensor x) const {
  const std::int64_t I = ssm.I, N = ssm.N, R = ssm.dt_rank;
  const Tensor xz = project(l.w, "ssm_in", 2 * I, l.c.D, x);
  const Tensor z = slice(xz, I, 2 * I);
  const Tensor u = ssm_convolution(l, ssm.K, slice(xz, 0, I));
  const Tensor parts = project(l.w, "ssm_x", R + 2 * N, I, u);
  const bool always = ssm.norm_dt_b_c;
  Tensor dt = normed(l, "ssm_dt", always, slice(parts, 0, R));
  const Tensor b = normed(l, "ssm_b", always, slice(parts, R, R + N));
  const Tensor c = normed(l, "ssm_c", always, slice(parts, R + N, R + 2 * N));
  dt = softplus(project(l.w, "ssm_dt", I, R, dt));
  const Tensor y = state_of(l, "ssm", {I, N}).selective_scan(u, dt, l.w("ssm_a", {I, N}), b, c);
  const Tensor gated = mul(add(y, mul(u, l.w("ssm_d", {I}))), silu(z));
  return project(l.w, "ssm_out", l.c.D, I, gated);
}

Tensor state_space_heads(const Layer& l, Tensor x, Tensor dt, Tensor b, Tensor c) {
  const std::int64_t H = x.shape()[1].bound, P = x.shape()[2].bound, N = b.shape()[2].bound;
  dt = softplus(add(dt, l.w("ssm_dt.bias", {H})));
  const Tensor decay = exp(merge_heads(mul(split_heads(dt, H), l.w.squeezed("ssm_a", {H, 1}))));
  const Tensor y =
      state_of(l, "ssm", {H, N, P}).gated_linear_attention(c, b, scale_heads(x, dt), decay);
  return add(y, mul(x, l.w.squeezed("ssm_d", {H, 1})));
}

Tensor Mamba2::operator()(const Layer& l, Tensor x) const {
  const std::int64_t I = ssm.I, H = ssm.dt_rank, GN = ssm.G * ssm.N, C = I + 2 * GN;
  const Tensor all = project(l.w, "ssm_in", I + C + H, l.c.D, x);
  const Tensor z = slice(all, 0, I), dt = slice(all, I + C, I + C + H);
  const Tensor xbc = ssm_convolution(l, ssm.K, slice(all, I, I + C));
  const Tensor heads = split_heads(slice(xbc, 0, I), H);
  const Tensor b = split_heads(slice(xbc, I, I + GN), ssm.G);
  const Tensor c = split_heads(slice(xbc, I + GN, C), ssm.G);
  Tensor y = mul(merge_heads(state_space_heads(l, heads, dt, b, c)), silu(z));
  if (l.w.has("ssm_norm.weight"))
    y = merge_heads(norm(l.w, "ssm_norm", l.c, split_heads(y, ssm.G)));
  return project(l.w, "ssm_out", l.c.D, I, y);
}

}  // namespace weft::arch
