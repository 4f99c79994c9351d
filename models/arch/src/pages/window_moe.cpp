// Mixtures of experts whose attention sees a window in most layers: K-EXAONE, Trinity (afmoe),
// Mellum 2 and Laguna. Sources: LG AI Research 2026, https://huggingface.co/LGAI-EXAONE; Arcee AI
// 2025, https://huggingface.co/arcee-ai; JetBrains 2026, https://huggingface.co/JetBrains; Poolside
// 2026, https://huggingface.co/poolside.

#include "weft/arch/decoder.h"

#include "decoder/root.h"

namespace weft::arch {
namespace {

Decoder exaone(const Hparams& c) {
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = pre_norm_layer(Attention{{norm_heads, rope_halves}}, Moe{})};
}

Hparams read_exaone(const Keys& keys) {
  Hparams c = read_hparams(keys);
  read_experts(keys, c, {.gating = Gating::sigmoid, .normalize = false});
  read_windows(keys, c, 4, {.window = 128});
  rope_in_windows_only(c);
  return c;
}

// Norms before and after attention and ffn; a gate on what attention gives.
Decoder trinity(const Hparams& c) {
  const Attention attention{.q_and_k = {norm_heads, rope_halves}, .output = {gate_by_sigmoid}};
  return {.rope = {.attrs = c.rope},
          .embedding_scale = root(c.D),
          .layer = sandwich_norm_layer(attention, Moe{})};
}

Hparams read_trinity(const Keys& keys) {
  Hparams c = read_hparams(keys);
  read_experts(keys, c, {.gating = Gating::sigmoid, .normalize = false});
  read_windows(keys, c, 4);
  rope_in_windows_only(c);
  return c;
}

struct LocalRope : Hparams {
  RopeAttrs local_rope = {};
};

// Rope is stretched only in layers that see everything.
Decoder mellum(const LocalRope& c) {
  return {.rope = {.attrs = c.rope},
          .second_rope = {.attrs = c.local_rope},
          .layer = pre_norm_layer(Attention{{norm_heads, rope_halves}}, Moe{})};
}

LocalRope read_mellum(const Keys& keys) {
  LocalRope c{read_hparams(keys)};
  read_experts(keys, c);
  read_windows(keys, c, 4);
  c.local_rope = read_local_rope(keys, c, c.rope.base);
  return c;
}

// A gate per head or per element on what attention gives; heads of layers with windows are turned
// further.
Decoder laguna(const LocalRope& c) {
  const Attention attention{.q_and_k = {norm_heads, rope_halves}, .output = {gate_by_softplus}};
  return {.rope = {.attrs = c.rope},
          .second_rope = {.attrs = c.local_rope},
          .layer = pre_norm_layer(attention, Moe{})};
}

LocalRope read_laguna(const Keys& keys) {
  LocalRope c{read_hparams(keys)};
  read_experts(keys, c, {.gating = Gating::sigmoid, .normalize = false});
  if (c.experts.shared_F == 0) c.experts.shared_F = c.experts.F;
  read_windows(keys, c, 4, {.full_first = true});
  c.local_rope = read_local_rope(keys, c, c.rope.base);
  return c;
}

}  // namespace

extern const Architecture kExaoneMoe, kTrinity, kMellum, kLaguna;
constinit const Architecture kExaoneMoe = decoder<exaone, read_exaone>("exaone-moe");
constinit const Architecture kTrinity = decoder<trinity, read_trinity>("afmoe");
constinit const Architecture kMellum = decoder<mellum, read_mellum>("mellum");
constinit const Architecture kLaguna = decoder<laguna, read_laguna>("laguna");

}  // namespace weft::arch
