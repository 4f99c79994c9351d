#pragma once
// EAGLE-3 heads: a layer in a file of its own that drafts for a model which does not know it. It
// reads the features
//
//   g = fc [h_a | h_b | h_c]     h_i [T, D']: the input of layer i of the model     g [T, D]
//
// and is a layer of this form, whose attention alone reads the token:
//
//   x = attn_norm(embedding)     n = attn_norm_2(g)
//   h = r + attention [x | n]    r = g, or n if norm_before_residual
//   y = h + swiglu(ffn_norm(h))
//   logits = output(output_norm(y))     y is what it passes on to itself
//
// Sources: Li et al. 2025, arXiv:2503.01840; vLLM, llama_eagle3.py, and of the model's layers
// _set_aux_hidden_state_layers in llama.py; the file format:
// https://github.com/ggml-org/llama.cpp/blob/master/src/models/eagle3.cpp. The keys beside those of
// decoders are eagle3.extract_layers (a, b, c), target_hidden_size (D') and norm_before_residual.
// The file may lack token_embd and output, which are then the model's. A tensor d2t [V'] I64 holds
// the model's ids of the tokens that logits [T, V'] are of; without it, V' is V.

#include <string_view>

#include "weft/arch/builder.h"

namespace weft::arch {

inline constexpr std::string_view kEagle3 = "eagle3";  // general.architecture
// What precedes the names of the head's tensors in graphs: "draft.fc.weight".
inline constexpr std::string_view kHeadPart = "draft";

struct Eagle3 : Hparams {
  FeatureLayers features;
  bool norm_before_residual = false;
  std::int64_t own_V = 0;  // V'
};

// The config of a head for a model with config `target`, as layer target.L of which it counts;
// n_ids is the number of elements of d2t, or 0. Throws FormatError as Keys does, ShapeError if it
// is for a model of other sizes, and UnsupportedError for forms of heads that are not known.
Config configure_eagle3(const ModelSource& head, const Hparams& target, std::int64_t n_ids);

// Only its draft graphs can be built, from sources that have the tensors of the model and those of
// the head, with the config of configure_eagle3().
const Architecture& eagle3();

}  // namespace weft::arch
