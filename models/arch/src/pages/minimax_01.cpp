// MiniMax-Text-01 and M1: seven of eight layers are lightning attention, linear attention whose
// memory fades at a fixed rate per head; the others are attention. Residuals are the normed inputs,
// scaled; every layer has experts.
// Source: MiniMax 2025, arXiv:2501.08313.

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/recurrent/head_decay.h"
#include "weft/ops/rows/slice_heads.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {
namespace {

struct MiniMax : Hparams {
  float residual_scale = 1;
};

Tensor lightning(const Layer& l, Tensor x) {
  const std::int64_t H = l.hparams().H, E = l.hparams().E, width = H * E;
  const Tensor qkv = split_heads(act::silu(project(l.w, "attn_qkv", 3 * width, l.c.D, x)), H);
  const Tensor q = slice_heads(qkv, 0, E), k = slice_heads(qkv, E, 2 * E);
  const Tensor v = slice_heads(qkv, 2 * E, 3 * E);
  // From the first layer to the last, the rates of decay fall to almost none.
  const float depth = l.c.L > 1 ? static_cast<float>(l.index) / static_cast<float>(l.c.L - 1) : 0;
  const Tensor decay =
      head_decay(l.in.pos, {.heads = static_cast<std::int32_t>(H), .rate = 1 - depth + 1e-5f});
  const Recurrent state = l.in.memory.recurrent(fmt::format("lightning.{}", l.index), {H, E, E});
  const Tensor y = merge_heads(state.gated_linear_attention(q, k, v, decay));
  const Tensor gate = act::sigmoid(project(l.w, "attn_gate", width, l.c.D, x));
  return project(l.w, "attn_output", l.c.D, width, mul(norm(l.w, "attn_norm_2", l.c, y), gate));
}

Tensor layer(const Layer& l, Tensor h) {
  const float factor = l.config<MiniMax>().residual_scale;
  const Tensor x = norm(l.w, "attn_norm", l.c, h);
  h = add(scale(x, factor), l.hparams().G == 0 ? lightning(l, x) : Attention{{rope_halves}}(l, x));
  const Tensor y = norm(l.w, "ffn_norm", l.c, h);
  return add(scale(y, factor), Moe{}(l, y));
}

Decoder minimax(const MiniMax& c) {
  return {.rope = {.attrs = c.rope}, .whole_layer = layer};
}

MiniMax read(const Keys& keys) {
  MiniMax c{read_hparams(keys)};
  read_recurrent_layers(keys, c, 8);
  read_experts(keys, c, {.width = ExpertWidth::ffn, .required = true});
  c.residual_scale = keys.number("residual_scale", -1e6, 1e6);
  return c;
}

}  // namespace

extern const Architecture kMiniMax01;
constinit const Architecture kMiniMax01 = decoder<minimax, read>("minimax-01");

}  // namespace weft::arch
