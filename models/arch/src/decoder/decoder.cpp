#include "weft/arch/decoder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/arch/eagle3.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/rows/concat.h"
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

Block normed(std::string_view name, const Block& block) {
  return [=](const Layer& l, Tensor x) { return block(l, norm(l.w, name, l.c, x)); };
}

namespace {

// A table of one row may be stored as a vector. [D] or [T, D].
Tensor type_rows(const Weights& w, const Hparams& c, const Inputs& in, std::string_view table) {
  const std::string name = std::string(table) + ".weight";
  const Shape* shape = w.shape_of(name);
  if (shape && shape->n_dims() == 1) return w(name, {c.D});
  const std::int64_t n = shape && shape->n_dims() == 2 ? (*shape)[0].bound : 2;
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

// [T, R], by LayerRope.
using Angles = std::array<Tensor, 3>;

Angles angles_of(const Weights& w, const Hparams& c, const Inputs& in, const Decoder& decoder) {
  const auto angles = [&](const Rope& rope) {
    if (rope.attrs.n_rot == 0) return Tensor();
    return rope_angles(in.pos, rope.attrs, rope.factors ? rope_factors(w, c, in) : Tensor());
  };
  const Tensor first = angles(decoder.rope);
  return {first, angles(decoder.second_rope), Tensor()};
}

Tensor apply(const Decoder& decoder, const Layer& layer, Tensor h) {
  for (const std::string_view name : decoder.unused_in_layers) layer.w.ignore(name);
  if (decoder.whole_layer) return decoder.whole_layer(layer, h);
  const std::vector<Residual> own =
      decoder.layer_of ? decoder.layer_of(layer.index) : std::vector<Residual>();
  for (const Residual& r : decoder.layer_of ? own : decoder.layer) h = apply(r, layer, h);
  return h;
}

Tensor scaled(const Decoder& decoder, Tensor logits) {
  if (decoder.logits_scale) logits = scale(logits, *decoder.logits_scale);
  return decoder.logits_cap > 0 ? softcap(logits, decoder.logits_cap) : logits;
}

// What a head reads of the inputs of layers; none if these are not one residual stream.
Tensor features_of(const Weights& w, const FeatureLayers& of, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> joined;
  for (const std::int64_t i : of.layers) joined.push_back(inputs[static_cast<std::size_t>(i)]);
  const auto is_stream = [&](const Tensor& h) {
    return h.shape().n_dims() == 2 && h.shape().last() == of.D;
  };
  if (!std::ranges::all_of(joined, is_stream)) return {};
  return project(w.part(kHeadPart), "fc", of.out, std::ssize(joined) * of.D, concat(joined));
}

}  // namespace

Tensor decode(const Weights& w, const Hparams& c, const Inputs& in, const Decoder& decoder) {
  Tensor embd = w("token_embd.weight", {c.V, c.D});
  const Angles angles = angles_of(w, c, in, decoder);
  Tensor h = embed(w, c, in, decoder, embd);
  std::vector<Tensor> layer_inputs;
  for (std::int64_t i = 0; i < c.L; ++i) {
    layer_inputs.push_back(h);
    const Weights blk = w.block(i);
    h = apply(decoder, {blk, c, in, i, angles[static_cast<std::size_t>(c.layer(i).rope)]}, h);
  }
  std::string_view final_norm = decoder.final_norm;
  if (in.next_features && in.feature_layers) {
    *in.next_features = features_of(w, *in.feature_layers, layer_inputs);
  } else if (in.next_features) {
    // Rows are picked after the norm, which is of each row: logits stay the same.
    if (decoder.draft.normed && !final_norm.empty())
      h = norm(w, std::exchange(final_norm, {}), c, h);
    *in.next_features = h;
  }
  const Tensor out = head(w, c, h, embd, in, final_norm);  // [O, V], or [O, D]
  return in.embeddings ? out : scaled(decoder, out);
}

namespace {

Tensor draft_layer(const Weights& w, const Hparams& c, const Inputs& in, const Decoder& decoder) {
  const Angles angles = angles_of(w, c, in, decoder);
  const Weights blk = w.block(c.L);
  Tensor embd = blk.optional("nextn.embed_tokens.weight", {c.V, c.D});
  if (!embd) embd = w("token_embd.weight", {c.V, c.D});
  const Tensor token = norm(blk, "nextn.enorm", c, embed(w, c, in, decoder, embd));
  const Tensor features = norm(blk, "nextn.hnorm", c, in.features);
  const Tensor h = project(blk, "nextn.eh_proj", c.D, 2 * c.D, concat(std::array{token, features}));
  return apply(decoder, {blk, c, in, c.L, angles[static_cast<std::size_t>(c.layer(c.L).rope)]}, h);
}

Tensor draft_norm(const Weights& w, const Weights& blk, const Hparams& c, const Decoder& decoder,
                  Tensor h) {
  for (const std::string name : {"nextn.shared_head_norm", "layer_output_norm"}) {
    if (blk.optional(name + ".weight", {c.D})) return norm(blk, name, c, h);
  }
  return decoder.final_norm.empty() ? h : norm(w, decoder.final_norm, c, h);
}

}  // namespace

Tensor decode_draft(const Weights& w, const Hparams& c, const Inputs& in, const Decoder& decoder) {
  Tensor h = draft_layer(w, c, in, decoder);
  {
    const Weights blk = w.block(c.L);
    if (decoder.draft.next_normed) h = draft_norm(w, blk, c, decoder, h);
    *in.next_features = h;
    h = get_rows(h, in.out_rows).named("output_rows");  // [O, D]
    if (!decoder.draft.next_normed) h = draft_norm(w, blk, c, decoder, h);
    if (blk.optional("nextn.shared_head_head.weight", {c.V, c.D}))
      return scaled(decoder, project(blk, "nextn.shared_head_head", c.V, c.D, h));
  }
  const bool tied = !w.has("output.weight");
  const Tensor embd = tied ? w("token_embd.weight", {c.V, c.D}) : Tensor();
  return scaled(decoder, logits_of(w, c, h, embd));
}

}  // namespace weft::arch
