// Llama 4: three of four layers see chunks of 8192 positions; every fourth sees everything, has no
// rope, and queries that grow with their position. Norms without weights over query and key heads
// after rope. In every n-th layer, experts whose weight, a sigmoid, scales what they take, and a
// shared one. Source: Meta AI 2025, https://ai.meta.com/blog/llama-4-multimodal-intelligence.

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/ids/top_k.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/rows/gather.h"
#include "weft/ops/rows/scale_heads.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {
namespace {

constexpr std::int64_t kChunk = 8192;  // the value in the file is ignored

struct Llama4 : Hparams {
  bool norm_heads = true;
};

Tensor norm_after_rope(const Layer& l, std::string_view, Tensor x) {
  const bool norms = l.config<Llama4>().norm_heads && l.angles;
  return norms ? rms_norm(x, l.c.eps) : x;
}

Memory chunks_of(const Layer& l, Tensor) {
  return l.hparams().window > 0 ? l.in.memory.chunks(kChunk) : l.in.memory;
}

Tensor attention(const Layer& l, Tensor x) {
  Attention a{.q_and_k = {rope_adjacent, norm_after_rope}, .memory = chunks_of};
  if (!l.angles) a.temperature = {.scale = 0.1f, .length = kChunk, .offset = 1};
  return a(l, x);
}

// Gate and other half are linear in what an expert takes, so its weight goes onto them.
Tensor weighted_experts(const Layer& l, Tensor x) {
  const ExpertHparams& e = l.c.experts;
  const Tensor logits = project(l.w, "ffn_gate_inp", e.X, l.c.D, x);
  const Tensor ids = top_k(logits, {.k = static_cast<std::int32_t>(e.K)});
  name_router(l, ids, x);
  const Tensor weights = act::sigmoid(gather(logits, ids));  // [T, K]
  const auto [gate, up] = project_experts_gate_up(l, x, ids);
  Tensor y = unit::swiglu(l, scale_heads(gate, weights), scale_heads(up, weights));
  y = merge_heads(project_experts(l, "ffn_down_exps", l.c.D, y, ids));  // [T, K * D]
  Tensor sum = slice(y, 0, l.c.D);
  for (std::int64_t k = 1; k < e.K; ++k) sum = add(sum, slice(y, k * l.c.D, (k + 1) * l.c.D));
  return sum;
}

Tensor ffn(const Layer& l, Tensor x) {
  if (!l.hparams().experts) return swiglu(l, x);
  return add(weighted_experts(l, x), shared_expert(l, x, unit::swiglu));
}

Decoder llama4(const Llama4& c) {
  return {.rope = {.attrs = c.rope, .factors = true}, .layer = pre_norm_layer(attention, ffn)};
}

Llama4 read(const Keys& keys) {
  Llama4 c{read_hparams(keys)};
  read_experts(keys, c, {.gating = Gating::sigmoid, .required = true});
  c.experts.shared_F = c.experts.F;
  c.norm_heads = c.experts.X != 128;
  if (keys.size_or("attention.sliding_window", 0, INT32_MAX, kChunk) == 0) return c;
  read_windows(keys, c, 4, {.window = kChunk});
  rope_in_windows_only(c);
  return c;
}

}  // namespace

extern const Architecture kLlama4;
constinit const Architecture kLlama4 = decoder<llama4, read>("llama4");

}  // namespace weft::arch
