// GPT-NeoX, Pythia, Dolly: layer norms with biases, rope over halves of a part of each head, GELU;
// attention and ffn side by side, each behind its own norm, if the file says so. Falcon: the same
// without biases of matrices; its 7B model has one norm for both.
// Sources: Black et al. 2022, arXiv:2204.06745; Almazrouei et al. 2023, arXiv:2311.16867.

#include "weft/arch/decoder.h"
#include "weft/ops/add.h"

namespace weft {
namespace {

struct NeoX : Hparams {
  bool parallel = true;
};

Decoder gptneox(const NeoX& c) {
  const Attention attention{{rope_halves}};
  const Ffn ffn{act::gelu, false};
  const std::vector<Residual> parallel{
      {.name = "layer",
       .block = side_by_side(normed("attn_norm", attention), normed("ffn_norm", ffn))}};
  return {.rope = {.attrs = c.rope},
          .layer = c.parallel ? parallel : pre_norm_layer(attention, ffn)};
}

NeoX read_neox(const Keys& keys) {
  return {read_usual<HparamsRules{.norm = NormKind::layer}>(keys),
          keys.flag_or("use_parallel_residual", true)};
}

// With two norms, attention takes the second.
Tensor falcon_layer(const Layer& l, Tensor x) {
  const Attention attention{{rope_halves}};
  const Tensor first = norm(l.w, "attn_norm", l.c, x);
  const Tensor second = l.w.has("attn_norm_2.weight") ? norm(l.w, "attn_norm_2", l.c, x) : first;
  return add(attention(l, second), Ffn{act::gelu, false}(l, first));
}

Decoder falcon(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = {{.name = "layer", .block = falcon_layer}}};
}

}  // namespace

extern const Architecture kGptNeoX, kFalcon;
constinit const Architecture kGptNeoX = decoder<gptneox, read_neox>("gptneox");
constinit const Architecture kFalcon =
    decoder<falcon, read_usual<HparamsRules{.norm = NormKind::layer}>>("falcon");

}  // namespace weft
