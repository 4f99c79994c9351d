#pragma once
// Multi-head latent attention: keys and values of a token are projections of one vector c of width
// kv_rank, and the part of a key that rope rotates is the same for all heads. If the file has the
// projections per head (attn_k_b, attn_v_b), the memory keeps c, and keys and values are never
// computed. If it has attn_kv_b, keys and values are computed and kept.
// Source: DeepSeek-AI 2024, arXiv:2405.04434, section 2.1.

#include "weft/arch/blocks.h"

namespace weft::arch {

struct LatentHparams {
  std::int64_t q_rank =
      0;  // rank of the projection to queries; 0, or attn_q in the file: one matrix
  std::int64_t kv_rank = 0;  // width of c
  std::int64_t E = 0;        // elements of a query or key head; rope rotates the last c.rope.n_rot
  std::int64_t Ev = 0;       // elements of a value head
};

// The scale of q.k: (attn_factor * m(mscale_all_dim))^2 / sqrt(E), with m(x) = 1 + 0.1 x
// ln(stretch) and mscale_all_dim = 10 rope.scaling.yarn_log_multiplier. Throws as Keys does.
// Source: DeepSeek-V3, https://huggingface.co/deepseek-ai/DeepSeek-V3, modeling_deepseek.py.
float read_score_scale(const Keys& keys, const Hparams& c, const LatentHparams& n);

// Reads attention.{q_lora_rank, kv_lora_rank, key_length_mla, value_length_mla}; without the latter
// two, heads are as c.layer(0) says. Throws as Keys does, and FormatError if heads are too narrow
// for rope.
LatentHparams read_latent(const Keys& keys, const Hparams& c);

struct LatentAttention {
  LatentHparams n;
  HeadStep rope = rope_adjacent;                     // null: none
  std::optional<float> scale = {};                   // of q.k; default: 1 / sqrt(E)
  std::optional<TemperatureAttrs> temperature = {};  // of q
  std::array<OutputStep, 2> output = {};
  HeadStep latents =
      nullptr;  // applied to attn_q_a x and attn_kv_a x [T, rank], before their norms
  // What tokens attend to; queries are projections of q [T, q_rank]. Null: l.in.memory.
  std::function<Memory(const Layer& l, Tensor x, Tensor q)> memory = {};
  // Cells [N, 1, kv_rank + n_rot] that all tokens see, too. The file has attn_k_b and attn_v_b.
  std::function<FixedCells(const Layer& l)> beside = {};

  Tensor operator()(const Layer& l, Tensor x) const;  // [T, D] -> [T, D]
};

}  // namespace weft::arch
