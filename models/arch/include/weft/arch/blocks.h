#pragma once
// Building blocks that several architectures share. A block is moved here once two of them use it.
// Blocks do not know architectures: the options of a model are in its own file, or follow from the
// tensors of the model file.

#include <array>
#include <optional>
#include <string_view>

#include "weft/arch/builder.h"

namespace weft {

// x NAME.weight^T (+ NAME.bias if the file has one): [T, K] -> [T, N]
Tensor project(const Weights& w, std::string_view name, std::int64_t N, std::int64_t K, Tensor x);

// RMS norm with the weight NAME.weight over the last dimension
Tensor norm(const Weights& w, std::string_view name, const Hparams& c, Tensor x);

// Final norm and logits of the rows that need them: [T, D] -> [O, V]. `embd` is the output matrix
// if the file has no output.weight.
Tensor head(const Weights& w, const Hparams& c, Tensor h, Tensor embd, const Inputs& in);

// The divisors of the rope frequencies in the file [R / 2], or no tensor: rope_freqs, or one of the
// two sets of LongRoPE. The long set is used if the session's context is longer than the context
// the model was first trained with.
Tensor rope_factors(const Weights& w, const Hparams& c, const Inputs& in);

// A layer while its graph is built.
struct Layer {
  const Weights& w;  // the layer's: w("attn_norm.weight", ..)
  const Hparams& c;
  const Inputs& in;
  std::int64_t index;
  Tensor angles;  // [T, R] of rope; no tensor if the decoder has no rope

  const LayerHparams& hparams() const { return c.layer(index); }
};

// A step that transforms queries or keys between projection and attention: x [T, heads, E] -> the
// same shape. `name` is the name of the projection, "attn_q" or "attn_k".
using HeadStep = Tensor (*)(const Layer& l, std::string_view name, Tensor x);
Tensor norm_heads(const Layer& l, std::string_view name, Tensor x);  // RMS norm, NAME_norm.weight
Tensor rope_adjacent(const Layer& l, std::string_view name, Tensor x);  // pairs (0, 1), (2, 3), ..
Tensor rope_halves(const Layer& l, std::string_view name, Tensor x);    // pairs (0, R / 2), ..

// Causal attention with grouped heads: [T, D] -> [T, D].
struct Attention {
  std::array<HeadStep, 4> q_and_k = {};  // applied to q and to k, in this order
  std::optional<float> scale = {};       // of q.k; default: 1 / sqrt(E)

  Tensor operator()(const Layer& l, Tensor x) const;
};

// down(silu(gate(x)) * up(x)): [T, D] -> [T, D].
Tensor swiglu(const Layer& l, Tensor x);

}  // namespace weft
