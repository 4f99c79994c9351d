// Nemotron-NAS (DeciLM): Llama whose layers differ. A layer has attention, one matrix in its place
// (no kv heads) or nothing (no heads), and an ffn of its own width or none.
// Source: Bercovich et al. 2024, arXiv:2411.19146.

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

Tensor linear_attention(const Layer& l, Tensor x) {
  return project(l.w, "attn_output", l.c.D, l.c.D, x);
}

Decoder deci(const Hparams& c) {
  const auto layer = [c](std::int64_t i) {
    const LayerHparams& n = c.layer(i);
    std::vector<Residual> steps;
    const Block attention = n.G > 0 ? Block(Attention{{rope_adjacent}}) : Block(linear_attention);
    if (n.H > 0) steps.push_back({.name = "attn", .pre_norm = "attn_norm", .block = attention});
    if (n.F > 0) steps.push_back({.name = "ffn", .pre_norm = "ffn_norm", .block = swiglu});
    return steps;
  };
  return {.rope = {.attrs = c.rope, .factors = true}, .layer_of = layer};
}

}  // namespace

extern const Architecture kDeci;
constinit const Architecture kDeci =
    decoder<deci, read_usual<HparamsRules{.min_H = 0, .min_G = 0, .min_F = 0}>>("deci");

}  // namespace weft::arch
