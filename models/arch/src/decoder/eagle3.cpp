#include "weft/arch/eagle3.h"

#include <algorithm>
#include <array>

#include "weft/arch/decoder.h"
#include "weft/base/error.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/positions/rope.h"
#include "weft/ops/rows/concat.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {
namespace {

// Projects the token and the features, which are side by side.
Heads project_pairs(const Layer& l, Tensor x) {
  const LayerHparams& n = l.hparams();
  const auto heads = [&](std::string_view name, std::int64_t H) {
    return split_heads(project(l.w, name, H * n.E, 2 * l.c.D, x), H);
  };
  return {heads("attn_q", n.H), heads("attn_k", n.G), heads("attn_v", n.G)};
}

// The rows of a table may be more than the model's tokens.
Tensor embeddings(const Weights& w, const Weights& own, const Eagle3& c) {
  const Shape* table = own.shape_of("token_embd.weight");
  const std::int64_t n = table && table->n_dims() == 2 ? (*table)[0].bound : c.V;
  return table ? own("token_embd.weight", {std::max(n, c.V), c.D})
               : w("token_embd.weight", {c.V, c.D});
}

Tensor layer(const Weights& blk, const Eagle3& c, const Inputs& in, Tensor angles, Tensor token) {
  const Layer l{blk, c, in, c.L, angles};
  const Tensor x = norm(blk, "attn_norm", c, token), n = norm(blk, "attn_norm_2", c, in.features);
  const Attention attention{.q_and_k = {rope_adjacent}, .heads = project_pairs};
  Tensor h = attention(l, concat(std::array{x, n}));
  h = add(c.norm_before_residual ? n : in.features, h).named("attn_residual");
  return add(h, swiglu(l, norm(blk, "ffn_norm", c, h))).named("ffn_residual");
}

Tensor draft(const Weights& w, const Hparams& hparams, const Inputs& in) {
  const auto& c = config_cast<Eagle3>(hparams);
  const Weights own = w.part(kHeadPart);
  own.ignore_part("fc");  // the graph of steps has it
  const Tensor angles = rope_angles(in.pos, c.rope, rope_factors(own, c, in));
  const Tensor token = get_rows(embeddings(w, own, c), in.tokens);
  Tensor h = layer(own.block(0), c, in, angles, token);
  *in.next_features = h;
  h = get_rows(h, in.out_rows).named("output_rows");  // [O, D]
  h = norm(own, "output_norm", c, h);
  if (own.has("output.weight")) return project(own, "output", c.own_V, c.D, h);
  if (c.own_V != c.V) own("output.weight", {c.own_V, c.D});  // it is missing
  const bool tied = !w.has("output.weight");
  return logits_of(w, c, h, tied ? w("token_embd.weight", {c.V, c.D}) : Tensor());
}

void check_fits(const Keys& keys, const Eagle3& c, const Hparams& target) {
  if (c.V < target.V)
    fail<ShapeError>("{}: a head for a vocabulary of {} tokens, but the model has {}",
                     keys.source().file(), c.V, target.V);
  if (c.features.D != target.D)
    fail<ShapeError>("{}: a head for a model with embedding length {} ({}), but the model has {}",
                     keys.source().file(), c.features.D, keys.name("target_hidden_size"), target.D);
  const bool lacks_table = !keys.source().find_tensor("token_embd.weight");
  const bool lacks_output = !keys.source().find_tensor("output.weight");
  if ((lacks_table || lacks_output) && c.D != target.D)
    fail<ShapeError>(
        "{}: the head has no {}, and its embedding length {} is not that of the model, {}",
        keys.source().file(), lacks_table ? "token_embd.weight" : "output.weight", c.D, target.D);
}

}  // namespace

Config configure_eagle3(const ModelSource& head, const Hparams& target, std::int64_t n_ids) {
  constexpr std::int64_t kMaxWidth = 1 << 24;
  const Keys keys(head, kEagle3);
  const auto made = std::make_shared<Eagle3>();
  Eagle3& c = *made;
  static_cast<Hparams&>(c) = read_hparams(keys);
  if (c.L != 1) keys.refuse("block_count", c.L, "1");
  for (const char* form : {"fc_norm", "norm_output"}) {
    if (keys.flag_or(form, false))
      fail<UnsupportedError>("{}: key '{}': heads of this form are not supported", head.file(),
                             keys.name(form));
  }
  c.norm_before_residual = keys.flag_or("norm_before_residual", false);
  c.features.layers = head.find_ints(keys.name("extract_layers"));
  if (c.features.layers.empty()) keys.missing("extract_layers");
  for (const std::int64_t i : c.features.layers) {
    if (i < 0 || i >= target.L)
      keys.refuse("extract_layers", i, fmt::format("0..{}, a layer of the model", target.L - 1));
  }
  c.features.D = keys.count_or("target_hidden_size", kMaxWidth, target.D);
  c.features.out = c.D;
  check_fits(keys, c, target);
  c.V = target.V;
  c.own_V = n_ids > 0 ? n_ids : c.V;
  c.L = target.L;
  c.n_nextn = 1;
  c.layers.resize(static_cast<std::size_t>(c.L + 1), c.layers.front());
  c.type.set(typeid(Eagle3));
  return made;
}

const Architecture& eagle3() {
  static constexpr Architecture kHead{.name = kEagle3, .draft = draft};
  return kHead;
}

}  // namespace weft::arch
