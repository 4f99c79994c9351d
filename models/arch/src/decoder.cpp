#include "weft/arch/decoder.h"

#include "weft/ops/add.h"
#include "weft/ops/get_rows.h"
#include "weft/ops/scale.h"

namespace weft {
namespace {

Tensor apply(const Residual& r, const Layer& l, Tensor h) {
  Tensor y = r.pre_norm.empty() ? h : norm(l.w, r.pre_norm, l.c, h);
  y = r.block(l, y);
  if (!r.post_norm.empty()) y = norm(l.w, r.post_norm, l.c, y);
  if (r.scale) y = scale(y, *r.scale);
  h = add(h, y).named(std::string(r.name) + "_residual");
  return r.sum_norm.empty() ? h : norm(l.w, r.sum_norm, l.c, h);
}

}  // namespace

Block side_by_side(Block a, Block b) {
  return [a = std::move(a), b = std::move(b)](const Layer& l, Tensor x) {
    Tensor y = a(l, x);
    return add(y, b(l, x));
  };
}

Tensor decode(const Weights& w, const Hparams& c, const Inputs& in, const Decoder& decoder) {
  for (const std::string_view name : decoder.unused) {
    if (!name.empty()) w.ignore(name);
  }
  Tensor embd = w("token_embd.weight", {c.V, c.D});
  const auto angles_of = [&](const Rope& rope) {
    if (rope.attrs.n_rot == 0) return Tensor();
    return rope_angles(in.pos, rope.attrs, rope.factors ? rope_factors(w, c, in) : Tensor());
  };
  const Tensor angles = angles_of(decoder.rope), second = angles_of(decoder.second_rope);  // [T, R]
  Tensor h = get_rows(embd, in.tokens);                                                    // [T, D]
  if (decoder.embedding_scale) h = scale(h, *decoder.embedding_scale);
  for (std::int64_t i = 0; i < c.L; ++i) {
    const Weights blk = w.block(i);
    const Layer layer{blk, c, in, i, c.layer(i).second_rope ? second : angles};
    if (decoder.layer_of) {
      for (const Residual& r : decoder.layer_of(i)) h = apply(r, layer, h);
    } else {
      for (const Residual& r : decoder.layer) h = apply(r, layer, h);
    }
  }
  Tensor out = head(w, c, h, embd, in);  // [O, V], or [O, D]
  return decoder.logits_scale && !in.embeddings ? scale(out, *decoder.logits_scale) : out;
}

}  // namespace weft
