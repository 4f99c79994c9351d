#include "weft/arch/decoder.h"

#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/rows/get_rows.h"

namespace weft::arch {
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

std::vector<Residual> pre_norm_layer(Block attention, Block ffn, std::string_view ffn_norm) {
  return {{.name = "attn", .pre_norm = "attn_norm", .block = std::move(attention)},
          {.name = "ffn", .pre_norm = ffn_norm, .block = std::move(ffn)}};
}

std::vector<Residual> sandwich_norm_layer(Block attention, Block ffn) {
  return {{.name = "attn",
           .pre_norm = "attn_norm",
           .block = std::move(attention),
           .post_norm = "post_attention_norm"},
          {.name = "ffn",
           .pre_norm = "ffn_norm",
           .block = std::move(ffn),
           .post_norm = "post_ffw_norm"}};
}

Block side_by_side(Block a, Block b) {
  return [a = std::move(a), b = std::move(b)](const Layer& l, Tensor x) {
    Tensor y = a(l, x);
    return add(y, b(l, x));
  };
}

Block normed(std::string_view name, Block block) {
  return [=](const Layer& l, Tensor x) { return block(l, norm(l.w, name, l.c, x)); };
}

namespace {

// A table of one row may be stored as a vector. [D] or [T, D].
Tensor type_rows(const Weights& w, const Hparams& c, const Inputs& in, std::string_view table) {
  const std::string name = std::string(table) + ".weight";
  const Shape* shape = w.shape_of(name);
  if (shape && shape->rank() == 1) return w(name, {c.D});
  const std::int64_t n = shape && shape->rank() == 2 ? (*shape)[0].bound : 2;
  const Tensor types = in.tokens.graph().input("types", in.tokens.spec());
  return get_rows(w(name, {n, c.D}), types);
}

Tensor embed(const Weights& w, const Hparams& c, const Inputs& in, const Decoder& decoder,
             Tensor embd) {
  Tensor h = get_rows(embd, in.tokens);  // [T, D]
  if (!decoder.positions.empty()) {
    Tensor table = w(std::string(decoder.positions) + ".weight", {c.context, c.D});
    h = add(h, get_rows(table, in.pos));
  }
  if (!decoder.token_types.empty()) h = add(h, type_rows(w, c, in, decoder.token_types));
  if (!decoder.embedding_norm.empty()) h = norm(w, decoder.embedding_norm, c, h);
  return decoder.embedding_scale ? scale(h, *decoder.embedding_scale) : h;
}

}  // namespace

Tensor decode(const Weights& w, const Hparams& c, const Inputs& in, const Decoder& decoder) {
  Tensor embd = w("token_embd.weight", {c.V, c.D});
  const auto angles_of = [&](const Rope& rope) {
    if (rope.attrs.n_rot == 0) return Tensor();
    return rope_angles(in.pos, rope.attrs, rope.factors ? rope_factors(w, c, in) : Tensor());
  };
  // [T, R], by LayerRope
  const Tensor angles[] = {angles_of(decoder.rope), angles_of(decoder.second_rope), Tensor()};
  Tensor h = embed(w, c, in, decoder, embd);
  for (std::int64_t i = 0; i < c.L; ++i) {
    const Weights blk = w.block(i);
    for (const std::string_view name : decoder.unused_in_layers) blk.ignore(name);
    const Layer layer{blk, c, in, i, angles[static_cast<std::size_t>(c.layer(i).rope)]};
    if (decoder.whole_layer) {
      h = decoder.whole_layer(layer, h);
    } else if (decoder.layer_of) {
      for (const Residual& r : decoder.layer_of(i)) h = apply(r, layer, h);
    } else {
      for (const Residual& r : decoder.layer) h = apply(r, layer, h);
    }
  }
  Tensor out = head(w, c, h, embd, in, decoder.final_norm);  // [O, V], or [O, D]
  if (in.embeddings) return out;
  if (decoder.logits_scale) out = scale(out, *decoder.logits_scale);
  return decoder.logits_cap > 0 ? softcap(out, decoder.logits_cap) : out;
}

}  // namespace weft::arch
