// openPangu 2.0 Flash: hyper-connections, latent attention in which all tokens also see learned
// vectors, short convolutions of what attention reads and writes, and experts. Most layers see a
// window, the others what an indexer chooses.
// Source: Huawei 2026, https://gitcode.com/ascend-tribe/openPangu-2.0-Infer.

#include "weft/arch/decoder.h"
#include "weft/arch/latent_attention.h"
#include "weft/base/error.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/positions/rope_angles.h"
#include "weft/ops/rows/concat.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/views.h"

#include "decoder/hyper_connections.h"

namespace weft::arch {
namespace {

constexpr std::int64_t kTaps = 3;  // width of the convolutions, which files do not say
constexpr StreamNames kStreamNames{"_phi", "_alpha", "_beta", "_gamma"};

struct OpenPangu : Hparams {
  LatentHparams latent = {};
  IndexerHparams indexer = {};
  std::int64_t n_sinks = 0;
  StreamWeightsAttrs streams = {};
};

const OpenPangu& of(const Layer& l) {
  return l.config<OpenPangu>();
}

// x and a convolution of it.
Tensor with_conv(const Layer& l, std::string_view name, Tensor x) {
  const std::int64_t C = x.shape()[1].bound;
  const Tensor w = l.w.squeezed(fmt::format("{}.weight", name), {C, kTaps});
  const Recurrent state =
      l.in.memory.recurrent(fmt::format("{}.{}", name, l.index), {C, kTaps - 1});
  return add(x, state.causal_conv(x, w));
}

Tensor latent_with_conv(const Layer& l, std::string_view name, Tensor x) {
  return with_conv(l, name == "attn_q_a" ? "attn_qa_conv" : "attn_compresskv_conv", x);
}

Tensor heads_with_conv(const Layer& l, Tensor, Tensor y) {
  return split_heads(with_conv(l, "attn_o_conv", merge_heads(y)), l.hparams().H);
}

// Learned latent vectors and keys, which rope does not turn.
FixedCells sinks(const Layer& l) {
  const OpenPangu& c = of(l);
  const std::int64_t N = c.n_sinks, R = c.rope.n_rot;
  const Tensor places = l.in.memory.fixed_places(N);
  const Tensor kv = get_rows(l.w("attn_param_sink_kv", {N, c.latent.kv_rank}), places);
  const Tensor k = get_rows(l.w("attn_param_sink_k_pe", {N, R}), places);
  const Tensor cells = concat(std::vector{norm(l.w, "attn_kv_a_norm", c, kv), k});
  return l.in.memory.keep_fixed(l.index, split_heads(cells, 1));
}

Chosen choose(const Layer& l, Tensor x, Tensor q_latent) {
  const OpenPangu& c = of(l);
  const std::int64_t H = c.indexer.H, E = c.indexer.E;
  const Tensor q =
      split_heads(project(l.w, "attn_indexer_q_b", H * E, c.latent.q_rank, q_latent), H);
  const Tensor k = norm(l.w, "attn_indexer_k_norm", c, project(l.w, "attn_indexer_k", E, c.D, x));
  return l.in.memory.choose(l.index, rope_halves(l, "indexer_q", q),
                            rope_halves(l, "indexer_k", split_heads(k, 1)), {.k = c.indexer.top_k},
                            project(l.w, "attn_indexer_weights_proj", H, c.D, x));
}

Memory memory_of_layer(const Layer& l, Tensor x, Tensor q_latent) {
  const std::int64_t window = l.hparams().window;
  return window > 0 ? l.in.memory.window(window) : l.in.memory.chosen(choose(l, x, q_latent));
}

Tensor attention(const Layer& l, Tensor x) {
  // Older files also have the matrix that attn_k_b and attn_v_b were made from.
  l.w.ignore("attn_kv_b.weight");
  const LatentAttention attention{.n = of(l).latent,
                                  .rope = rope_halves,
                                  .output = {heads_with_conv},
                                  .latents = latent_with_conv,
                                  .memory = memory_of_layer,
                                  .beside = sinks};
  const Tensor y = attention(l, norm(l.w, "attn_norm", l.c, x));
  return norm(l.w, "post_attention_norm", l.c, y);
}

Tensor ffn(const Layer& l, Tensor x) {
  return norm(l.w, "post_ffw_norm", l.c, Moe{}(l, norm(l.w, "ffn_norm", l.c, x)));
}

Tensor build(const Weights& w, const OpenPangu& c, const Inputs& in) {
  const Tensor embd = w("token_embd.weight", {c.V, c.D}), angles = rope_angles(in.pos, c.rope);
  Tensor h = copy_to_streams(get_rows(embd, in.tokens), c.streams.n);
  for (std::int64_t i = 0; i < c.L; ++i) {
    const Weights blk = w.block(i);
    const Layer layer{blk, c, in, i, angles};
    h = connect(layer, "attn_mhc", c.streams, attention, h, kStreamNames);
    h = connect(layer, "mlp_mhc", c.streams, ffn, h, kStreamNames);
    if (blk.has("block_post_norm.weight")) h = norm(blk, "block_post_norm", c, h);
  }
  return head(w, c, read_streams(w, c, "merge_mhc", c.streams, h, kStreamNames), embd, in);
}

// Two lists: numbers of layers, also of those for drafts, and their windows.
void read_layer_windows(const Keys& keys, OpenPangu& c) {
  constexpr std::string_view kLayers = "swa_layers", kWindows = "sliding_window_list";
  const auto layers = keys.source().find_ints(keys.name(kLayers));
  const auto windows = keys.source().find_ints(keys.name(kWindows));
  if (layers.size() != windows.size())
    keys.refuse(kWindows, fmt::format("a list of {}", windows.size()),
                fmt::format("one of {}, as {}", layers.size(), kLayers));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i] < 0 || layers[i] >= c.L + c.n_nextn)
      keys.refuse(kLayers, layers[i], fmt::format("0..{}", c.L + c.n_nextn - 1));
    if (windows[i] < 0 || windows[i] > INT32_MAX)
      keys.refuse(kWindows, windows[i], fmt::format("0..{}", INT32_MAX));
    if (layers[i] < c.L) c.layers[static_cast<std::size_t>(layers[i])].window = windows[i];
  }
}

OpenPangu read(const Keys& keys) {
  OpenPangu c{read_hparams(keys)};
  c.latent = read_latent(keys, c);
  c.latent.q_rank = keys.count("attention.q_lora_rank", 1 << 20);  // the convolution needs it
  read_experts(keys, c, {.gating = Gating::sigmoid, .normalize = false});
  c.indexer = read_indexer(keys, c);
  read_layer_windows(keys, c);
  c.n_sinks = keys.count("param_sink_number", 1 << 16);
  c.streams = {
      .n = static_cast<std::int32_t>(keys.count("mhc_num_stream", kMaxStreams)),
      .iterations = static_cast<std::int32_t>(keys.count("mhc_recur_norm", kMaxSinkhornIterations)),
      .eps = 1e-6f};
  return c;
}

}  // namespace

extern const Architecture kOpenPangu;
constinit const Architecture kOpenPangu = architecture<build, read>("openpangu");

}  // namespace weft::arch
