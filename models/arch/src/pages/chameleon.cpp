// Chameleon (the text part): layer norms over every query and key head before rope; in some models
// norms come after attention and ffn instead of before. It never predicts tokens of images.
// Source: Chameleon Team 2024, arXiv:2405.09818.

#include <cfloat>

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/clamp.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/norms/layer_norm.h"
#include "weft/ops/rows/concat.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {
namespace {

constexpr std::int64_t kImagesBegin = 4, kImagesEnd = 8196;  // ids of tokens

struct Chameleon : Hparams {
  bool post_norm = false;
};

// A weight for every element of every head.
Tensor layer_norm_heads(const Layer& l, std::string_view name, Tensor x) {
  const std::string base = std::string(name) + "_norm";
  const Shape shape{x.shape()[1], x.shape()[2]};
  const Tensor y = mul(layer_norm(x, 1e-5f), l.w(base + ".weight", shape));
  const Tensor bias = l.w.optional(base + ".bias", shape);
  return bias ? add(y, bias) : y;
}

Decoder chameleon(const Chameleon& c) {
  const Attention attention{{layer_norm_heads, rope_adjacent}};
  const std::vector<Residual> post = {
      {.name = "attn", .block = attention, .post_norm = "attn_norm"},
      {.name = "ffn", .block = swiglu, .post_norm = "ffn_norm"}};
  return {.rope = {.attrs = c.rope},
          .layer = c.post_norm ? post : pre_norm_layer(attention, swiglu)};
}

Tensor build(const Weights& w, const Chameleon& c, const Inputs& in) {
  const Tensor out = decode(w, c, in, chameleon(c));
  if (in.embeddings) return out;
  const Tensor never = clamp(slice(out, kImagesBegin, kImagesEnd), -FLT_MAX, -FLT_MAX);
  std::vector<Tensor> parts{slice(out, 0, kImagesBegin), never};
  if (c.V > kImagesEnd) parts.push_back(slice(out, kImagesEnd, c.V));
  return concat(parts);
}

Chameleon read(const Keys& keys) {
  Chameleon c{read_usual<>(keys)};
  if (c.V < kImagesEnd && !keys.source().make_up(keys.name("vocab_size")))
    keys.refuse("vocab_size", c.V, fmt::format("at least {}", kImagesEnd));
  c.post_norm = keys.flag_or("swin_norm", false);
  return c;
}

}  // namespace

extern const Architecture kChameleon;
constinit const Architecture kChameleon = architecture<build, read>("chameleon");

}  // namespace weft::arch
