#include "weft/arch/blocks.h"

#include <cmath>
#include <cstdint>

#include "weft/ops/add.h"
#include "weft/ops/clamp.h"
#include "weft/ops/get_rows.h"
#include "weft/ops/layer_norm.h"
#include "weft/ops/linear.h"
#include "weft/ops/mul.h"
#include "weft/ops/rms_norm.h"
#include "weft/ops/rope.h"
#include "weft/ops/scale.h"
#include "weft/ops/scale_heads.h"
#include "weft/ops/shift_positions.h"
#include "weft/ops/tanh.h"
#include "weft/ops/views.h"

namespace weft {

Tensor project(const Weights& w, std::string_view name, std::int64_t N, std::int64_t K, Tensor x) {
  const std::string base(name);
  Tensor y = linear(x, w(base + ".weight", {N, K}), w.optional(base + ".bias", {N}));
  const Tensor factor = w.optional(base + ".scale", {1});
  return factor ? mul(y, factor) : y;
}

Tensor norm(const Weights& w, std::string_view name, const Hparams& c, Tensor x) {
  const std::string base(name);
  const auto normalized = [&] {
    return c.norm == NormKind::rms ? rms_norm(x, c.eps) : layer_norm(x, c.eps);
  };
  if (!c.norm_weights || name == kNoWeight) return normalized();
  const Shape width{x.shape()[-1]};
  const std::string weight_name = w.has(base) ? base : base + ".weight";
  const Shape* shape = w.shape_of(weight_name);
  const bool by_head = shape && shape->rank() == 2 && x.shape().rank() == 3;
  const Shape wanted = by_head ? Shape{x.shape()[1], x.shape()[2]} : width;
  const Tensor weight = w(weight_name, wanted);
  const Tensor y = c.norm == NormKind::rms && !by_head
                       ? rms_norm(x, weight, c.eps)
                       : mul(normalized(), weight).named(std::string(name));
  const Tensor bias = w.optional(base + ".bias", wanted);
  return bias ? add(y, bias) : y;
}

Tensor softcap(Tensor x, float cap) {
  return scale(tanh(scale(x, 1 / cap)), cap);
}

Tensor head(const Weights& w, const Hparams& c, Tensor h, Tensor embd, const Inputs& in,
            std::string_view norm_name) {
  h = get_rows(h, in.out_rows).named("output_rows");  // [O, D]
  Tensor rows = norm_name.empty() ? h : norm(w, norm_name, c, h);
  if (in.embeddings) {
    w.ignore("output.weight");
    w.ignore("output.bias");
    return rows;
  }
  if (w.has("output.weight")) return project(w, "output", c.V, c.D, rows);
  return linear(rows, embd, w.optional("output.bias", {c.V})).named("output");
}

Tensor rope_factors(const Weights& w, const Hparams& c, const Inputs& in) {
  const Shape shape{c.rope.n_rot / 2};
  const bool two_sets = w.has("rope_factors_long.weight") || w.has("rope_factors_short.weight");
  if (c.rope_scaling != RopeScaling::longrope && !two_sets)
    return w.optional("rope_freqs.weight", shape);
  const bool is_long = in.context > c.rope.original_context;
  w.ignore(is_long ? "rope_factors_short.weight" : "rope_factors_long.weight");
  return w.optional(is_long ? "rope_factors_long.weight" : "rope_factors_short.weight", shape);
}

Tensor norm_heads(const Layer& l, std::string_view name, Tensor x) {
  return norm(l.w, std::string(name) + "_norm", l.c, x);
}

Tensor norm_heads_unweighted(const Layer& l, std::string_view, Tensor x) {
  return norm(l.w, kNoWeight, l.c, x);
}

Tensor norm_heads_if_present(const Layer& l, std::string_view name, Tensor x) {
  return l.w.has(std::string(name) + "_norm.weight") ? norm_heads(l, name, x) : x;
}

Tensor norm_width_if_present(const Layer& l, std::string_view name, Tensor x) {
  return l.w.has(std::string(name) + "_norm.weight") ? norm_width(l, name, x) : x;
}

Tensor norm_width(const Layer& l, std::string_view name, Tensor x) {
  const std::int64_t n_heads = x.shape()[1].bound;
  return split_heads(norm_heads(l, name, merge_heads(x)), n_heads);
}

Tensor rope_adjacent(const Layer& l, std::string_view name, Tensor x) {
  if (!l.angles) return x;
  return rope(x, l.angles, RopePairs::adjacent).named(std::string(name) + "_rope");
}

Tensor rope_halves(const Layer& l, std::string_view name, Tensor x) {
  if (!l.angles) return x;
  return rope(x, l.angles, RopePairs::halves).named(std::string(name) + "_rope");
}

Memory memory_of(const Layer& l) {
  const std::int64_t window = l.hparams().window;
  if (!l.c.causal) return l.in.memory.both_ways(window);
  return window > 0 ? l.in.memory.window(window) : l.in.memory;
}

Heads project_heads(const Layer& l, Tensor x) {
  const LayerHparams& n = l.hparams();
  const std::int64_t D = l.c.D, nq = n.H * n.E, nk = n.G * n.E, nv = n.G * n.Ev;
  const auto clamped = [&](Tensor y) {
    return l.c.clamp_qkv > 0 ? clamp(y, -l.c.clamp_qkv, l.c.clamp_qkv) : y;
  };
  Tensor q, k, v;
  if (n.kv_of >= 0) {
    for (const char* unused : {"attn_k.weight", "attn_v.weight", "attn_k_norm.weight"})
      l.w.ignore(unused);
    return {split_heads(clamped(project(l.w, "attn_q", nq, D, x)), n.H), {}, {}};
  }
  if (l.w.has("attn_qkv.weight")) {
    Tensor qkv = clamped(project(l.w, "attn_qkv", nq + nk + nv, D, x));
    q = slice(qkv, 0, nq), k = slice(qkv, nq, nq + nk), v = slice(qkv, nq + nk, nq + nk + nv);
  } else {
    q = clamped(project(l.w, "attn_q", nq, D, x));
    k = clamped(project(l.w, "attn_k", nk, D, x));
    v = clamped(project(l.w, "attn_v", nv, D, x));
  }
  return {split_heads(q, n.H), split_heads(k, n.G), split_heads(v, n.G)};
}

namespace {

// y [T, H, Ev] times act(gate x), by element or by head.
Tensor gated(const Layer& l, Act act, Tensor x, Tensor y) {
  const std::int64_t H = y.shape()[1].bound, width = H * y.shape()[2].bound;
  const Shape* shape = l.w.shape_of("attn_gate.weight");
  const bool by_head = shape && (*shape)[0].bound == H;
  Tensor gate = act(project(l.w, "attn_gate", by_head ? H : width, l.c.D, x));
  return by_head ? scale_heads(y, gate) : mul(y, split_heads(gate, H));
}

}  // namespace

Tensor gate_by_sigmoid(const Layer& l, Tensor x, Tensor y) {
  return gated(l, act::sigmoid, x, y);
}

Tensor gate_by_softplus(const Layer& l, Tensor x, Tensor y) {
  return gated(l, act::softplus, x, y);
}

Tensor Attention::operator()(const Layer& l, Tensor x) const {
  const LayerHparams& n = l.hparams();
  auto [q, k, v] = heads(l, x);
  for (const HeadStep step : q_and_k) q = step ? step(l, "attn_q", q) : q;
  for (const HeadStep step : q_and_k) k = step && k ? step(l, "attn_k", k) : k;
  if (values && v) v = values(l, "attn_v", v);
  if (temperature) q = attention_temperature(q, l.in.pos, *temperature);
  const float factor = scale.value_or(1 / std::sqrt(static_cast<float>(n.E)));
  const AttentionBias bias{.softcap = softcap,
                           .alibi = alibi,
                           .pos = alibi > 0 ? l.in.pos : Tensor(),
                           .sinks = l.w.optional("attn_sinks.weight", {n.H})};
  const Memory seen = memory ? memory(l, x) : memory_of(l);
  Tensor y = k ? seen.attend(l.index, q, k, v, {.scale = factor}, bias)
               : seen.attend_stored(n.kv_of, q, {.scale = factor}, bias);  // [T, H, Ev]
  for (const OutputStep step : output) y = step ? step(l, x, y) : y;
  y = merge_heads(y).named("attn_merged");  // [T, H * Ev]
  if (l.w.has("attn_sub_norm.weight")) y = norm(l.w, "attn_sub_norm", l.c, y);
  return project(l.w, "attn_output", l.c.D, n.H * n.Ev, y);  // [T, D]
}

Tensor Ffn::operator()(const Layer& l, Tensor x) const {
  const std::int64_t D = l.c.D, F = l.hparams().F;
  Tensor y;  // [T, F]
  const Shape* up_shape = l.w.shape_of("ffn_up.weight");
  if (gated && up_shape && !l.w.has("ffn_gate.weight") && (*up_shape)[0].bound == 2 * F) {
    const Tensor both = project(l.w, "ffn_up", 2 * F, D, x);
    y = mul(act(slice(both, 0, F)), slice(both, F, 2 * F)).named("ffn_act");
  } else if (gated) {
    Tensor gate = project(l.w, "ffn_gate", F, D, x);
    Tensor up = project(l.w, "ffn_up", F, D, x);
    y = mul(act(gate), up).named("ffn_act");
  } else {
    y = act(project(l.w, "ffn_up", F, D, x)).named("ffn_act");
  }
  if (l.w.has("ffn_sub_norm.weight")) y = norm(l.w, "ffn_sub_norm", l.c, y);
  return project(l.w, "ffn_down", D, F, y);  // [T, D]
}

Tensor swiglu(const Layer& l, Tensor x) {
  return Ffn{}(l, x);
}

Tensor gated_ffn(const Layer& l, Tensor x, const Unit& unit) {
  const std::int64_t D = l.c.D, F = l.hparams().F;
  const Tensor gate = project(l.w, "ffn_gate", F, D, x), up = project(l.w, "ffn_up", F, D, x);
  return project(l.w, "ffn_down", D, F, unit(l, gate, up));
}

Tensor unit_heads(Tensor x, float eps, float factor) {
  const float E = static_cast<float>(x.shape().last());
  return scale(rms_norm(x, eps), factor / std::sqrt(E));
}

// All positions are in the first chunk.
Tensor zero_ids(const Inputs& in) {
  return shift_positions(in.pos, {.step = INT32_MAX});
}

Tensor short_convolution(const Layer& l, std::string_view state, Tensor x, Tensor w, Tensor bias) {
  const std::int64_t C = w.shape()[0].bound, taps = w.shape()[1].bound;
  const Recurrent kept = l.in.memory.recurrent(fmt::format("{}.{}", state, l.index), {C, taps - 1});
  return act::silu(kept.causal_conv(x, w, bias));
}

}  // namespace weft
