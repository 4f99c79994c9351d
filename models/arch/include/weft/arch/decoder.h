#pragma once
// A decoder described as data, which suits most architectures. The description lists the blocks of
// a layer, the positions of norms, and scales; decode() builds the graph:
//
//   Decoder describe(const Hparams& c) {
//     return {.rope = {.attrs = c.rope},
//             .layer = pre_norm_layer(Attention{{rope_halves}}, swiglu)};
//   }
//
// A block is any function from a layer and its input to what is added to the residual stream. A
// block of a single architecture stays in that architecture's file. Architectures that do not
// consist of residual layers have their own build function, which can use the same blocks.

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/arch/blocks.h"

namespace weft::arch {

// One step of the residual stream h:
//   h = sum_norm(h + scale * post_norm(block(pre_norm(h))))
// Norms are given by the names of their tensors; an empty name means no norm.
struct Residual {
  std::string_view name;           // "attn": the sum is the node "attn_residual"
  std::string_view pre_norm = {};  // "attn_norm"
  Block block;
  std::string_view post_norm = {};
  std::optional<float> scale = {};
  std::string_view sum_norm = {};
};

// The residuals of most decoders: attention, then ffn, with a norm before each, or before and
// after.
std::vector<Residual> pre_norm_layer(Block attention, Block ffn,
                                     std::string_view ffn_norm = "ffn_norm");
std::vector<Residual> sandwich_norm_layer(Block attention, Block ffn);

// Applies both blocks to the same input and adds their outputs, for layers with parallel attention
// and ffn.
Block side_by_side(Block a, Block b);
// The block with its own norm before it.
Block normed(std::string_view name, const Block& block);

// Angles that layers share.
struct Rope {
  RopeAttrs attrs;
  bool factors = false;  // divide frequencies by the factors in the file, if it has any
};

// Which hidden states draft layers were trained on: those after a norm, or those before it.
struct DraftFeatures {
  bool normed = true;       // the model's are taken after its final norm
  bool next_normed = true;  // the draft layer's own are taken after the norm of its head
};

struct Decoder {
  // Layers use the one that c.layer(i).rope names. With n_rot 0 there is none.
  Rope rope = {}, second_rope = {};
  std::string_view positions = {};       // table of learned positions [P, D], added to embeddings
  std::string_view token_types = {};     // table with a row for each type of token
  std::string_view embedding_norm = {};  // "token_embd_norm"
  std::optional<float> embedding_scale = {};
  std::vector<Residual> layer = {};  // the same for every layer, or:
  std::function<std::vector<Residual>(std::int64_t i)> layer_of = {};  // of layer i, or:
  Block whole_layer = {};                                              // maps h to h
  std::string_view final_norm = "output_norm";                         // empty: none
  std::optional<float> logits_scale = {};
  float logits_cap = 0;  // softcap on logits; 0: none
  DraftFeatures draft = {};
  // Tensors of every layer that files may hold and the graph ignores.
  std::vector<std::string_view> unused_in_layers = {};
};

// Builds the graph: embeddings of the tokens, the residuals of every layer, head(). Nodes of layer
// i have paths "blk.<i>.*".
Tensor decode(const Weights& w, const Hparams& c, const Inputs& in, const Decoder& decoder);

// Builds the graph of the draft layer blk.L, one of the layers that `decoder` describes:
//   h = nextn.eh_proj [nextn.enorm(embedding) | nextn.hnorm(features)]
//   logits = head(norm(layer(h)))
// The file may have own embeddings (nextn.embed_tokens), an own norm (nextn.shared_head_norm or
// layer_output_norm) and an own output matrix (nextn.shared_head_head), in place of the model's.
// Returns the logits, [O, V], and sets in.next_features. REQUIRES: c.n_nextn > 0; in.features.
// Source: DeepSeek-AI 2024, arXiv:2412.19437, section 2.2, whose published weights have the
// embedding before the features.
Tensor decode_draft(const Weights& w, const Hparams& c, const Inputs& in, const Decoder& decoder);

// Makes an architecture from `Decoder describe(const Config&)` and `Config read(const Keys&)`.
template <HparamsRules rules = HparamsRules{}>
Hparams read_usual(const Keys& keys) {
  const Hparams c = read_hparams(keys, rules);
  require_dense(keys, c);
  return c;
}
template <ExpertRules experts = ExpertRules{}, HparamsRules rules = HparamsRules{}>
Hparams read_with_experts(const Keys& keys) {
  Hparams c = read_hparams(keys, rules);
  read_experts(keys, c, experts);
  return c;
}
template <auto describe, auto read = read_usual<>>
constexpr Architecture decoder(std::string_view name, const HuggingFace& hugging_face = {}) {
  using Own = decltype(read(std::declval<const Keys&>()));
  constexpr auto build = [](const Weights& w, const Own& c, const Inputs& in) {
    return decode(w, c, in, describe(c));
  };
  Architecture made = architecture<build, read>(name, hugging_face);
  made.draft = [](const Weights& w, const Hparams& c, const Inputs& in) {
    const auto& own = config_cast<std::remove_cvref_t<Own>>(c);
    return decode_draft(w, own, in, describe(own));
  };
  return made;
}

}  // namespace weft::arch
