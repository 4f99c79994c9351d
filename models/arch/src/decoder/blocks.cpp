#include "weft/arch/blocks.h"

#include <cmath>
#include <cstdint>

#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/clamp.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/elementwise/tanh.h"
#include "weft/ops/norms/layer_norm.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/positions/rope.h"
#include "weft/ops/positions/shift_positions.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/scale_heads.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {

Tensor project(const Weights& w, std::string_view name, std::int64_t N, std::int64_t K, Tensor x) {
  const std::string base(name);
  w.ignore(base + ".input_scale");
  const Tensor factor = w.optional(base + ".scale", {1});
  if (!factor) return linear(x, w(base + ".weight", {N, K}), w.optional(base + ".bias", {N}));
  const Tensor y = mul(linear(x, w(base + ".weight", {N, K})), factor);
  const Tensor bias = w.optional(base + ".bias", {N});
  return bias ? add(y, bias) : y;
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
  const bool by_head = shape && shape->n_dims() == 2 && x.shape().n_dims() == 3;
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
    w.ignore_part("output");
    return rows;
  }
  return logits_of(w, c, rows, embd);
}

Tensor logits_of(const Weights& w, const Hparams& c, Tensor rows, Tensor embd) {
  if (!embd || w.has("output.weight")) return project(w, "output", c.V, c.D, rows);
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

namespace {

Tensor clamped(const Layer& l, std::string_view name, std::int64_t N, Tensor x) {
  const float max = l.c.clamp_qkv;
  const Tensor y = project(l.w, name, N, l.c.D, x);
  return max > 0 ? clamp(y, -max, max) : y;
}

}  // namespace

Heads project_rows(const Layer& l, Tensor x, std::int64_t nq, std::int64_t nk, std::int64_t nv) {
  if (l.w.has("attn_qkv.weight")) {
    const Tensor qkv = clamped(l, "attn_qkv", nq + nk + nv, x);
    return {slice(qkv, 0, nq), slice(qkv, nq, nq + nk), slice(qkv, nq + nk, nq + nk + nv)};
  }
  const Tensor q = clamped(l, "attn_q", nq, x), k = clamped(l, "attn_k", nk, x);
  return {q, k, clamped(l, "attn_v", nv, x)};
}

Heads project_heads(const Layer& l, Tensor x) {
  const LayerHparams& n = l.hparams();
  const std::int64_t nq = n.H * n.E, nk = n.G * n.E, nv = n.G * n.Ev;
  if (n.kv_of >= 0) {
    for (const char* unused : {"attn_k", "attn_v", "attn_k_norm"}) l.w.ignore_part(unused);
    const bool fused = l.w.has("attn_qkv.weight");
    const Tensor q = fused ? project_rows(l, x, nq, nk, nv).q : clamped(l, "attn_q", nq, x);
    return {split_heads(q, n.H), {}, {}};
  }
  const Heads rows = project_rows(l, x, nq, nk, nv);
  return {split_heads(rows.q, n.H), split_heads(rows.k, n.G), split_heads(rows.v, n.G)};
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

GateUp project_gate_up(const Layer& l, Tensor x) {
  const std::int64_t D = l.c.D, F = l.hparams().F;
  const Shape* up_shape = l.w.shape_of("ffn_up.weight");
  if (up_shape && !l.w.has("ffn_gate.weight") && (*up_shape)[0].bound == 2 * F) {
    const Tensor both = project(l.w, "ffn_up", 2 * F, D, x);
    return {slice(both, 0, F), slice(both, F, 2 * F)};
  }
  const Tensor gate = project(l.w, "ffn_gate", F, D, x);
  return {gate, project(l.w, "ffn_up", F, D, x)};
}

Tensor Ffn::operator()(const Layer& l, Tensor x) const {
  const std::int64_t D = l.c.D, F = l.hparams().F;
  Tensor y;  // [T, F]
  if (gated) {
    const auto [gate, up] = project_gate_up(l, x);
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
  const auto [gate, up] = project_gate_up(l, x);
  return project(l.w, "ffn_down", l.c.D, l.hparams().F, unit(l, gate, up));
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

std::optional<TemperatureAttrs> read_temperature(const Keys& keys, const Hparams& c) {
  const float scale = keys.number_or("attention.temperature_scale", -1e3, 1e3, 0);
  const std::int64_t length =
      keys.count_or("attention.temperature_length", INT32_MAX, c.rope.original_context);
  if (scale == 0) return std::nullopt;
  return TemperatureAttrs{.scale = scale, .length = static_cast<std::int32_t>(length)};
}

}  // namespace weft::arch
