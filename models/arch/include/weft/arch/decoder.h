#pragma once
// A decoder described as data, which suits most architectures. The description lists the blocks of
// a layer, the positions of norms, and scales; decode() builds the graph:
//
//   Decoder describe(const Hparams& c) {
//     return {.rope = {.attrs = c.rope},
//             .layer = {{.name = "attn", .pre_norm = "attn_norm", .block =
//             Attention{{rope_halves}}},
//                       {.name = "ffn", .pre_norm = "ffn_norm", .block = swiglu}}};
//   }
//
// A block is any function from a layer and its input to what is added to the residual stream. A
// block of a single architecture stays in that architecture's file. Architectures that do not
// consist of residual layers have their own build function, which can use the same blocks.

#include <array>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/arch/blocks.h"

namespace weft {

using Block = std::function<Tensor(const Layer& l, Tensor x)>;  // [T, D] -> [T, D]

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

// Applies both blocks to the same input and adds their outputs, for layers with parallel attention
// and ffn.
Block side_by_side(Block a, Block b);

// Angles that layers share.
struct Rope {
  RopeAttrs attrs;
  bool factors = false;  // divide frequencies by the factors in the file, if it has any
};

struct Decoder {
  // Layers use `rope`, or `second_rope` if c.layer(i).second_rope. With n_rot 0 there is none.
  Rope rope = {}, second_rope = {};
  std::optional<float> embedding_scale = {};
  std::vector<Residual> layer = {};                                    // of every layer, or:
  std::function<std::vector<Residual>(std::int64_t i)> layer_of = {};  // of layer i
  std::optional<float> logits_scale = {};
  std::array<std::string_view, 4> unused = {};  // tensors that files may have but the graph ignores
};

// Builds the graph: embeddings of the tokens, the residuals of every layer, head(). Nodes of layer
// i have paths "blk.<i>.*".
Tensor decode(const Weights& w, const Hparams& c, const Inputs& in, const Decoder& decoder);

// Makes an architecture from `Decoder describe(const Config&)` and `Config read(const Keys&)`.
inline Hparams read_usual(const Keys& keys) {
  return read_hparams(keys);
}
template <auto describe, auto read = read_usual>
constexpr Architecture decoder(std::string_view name, const HuggingFace& hugging_face = {}) {
  using Own = decltype(read(std::declval<const Keys&>()));
  constexpr auto build = [](const Weights& w, const Own& c, const Inputs& in) {
    return decode(w, c, in, describe(c));
  };
  return architecture<build, read>(name, hugging_face);
}

}  // namespace weft
