#pragma once
// Pieces that several architectures share. A piece comes here once two of them use it. None of them
// knows an architecture: what a model has is said by its own page, or by the tensors of the file.

#include <array>
#include <optional>
#include <string_view>

#include "weft/arch/builder.h"

namespace weft {

// x NAME.weight^T (+ NAME.bias if the file has one): [T, K] -> [T, N]
Tensor project(const Weights& w, std::string_view name, std::int64_t N, std::int64_t K, Tensor x);

// RMS norm with the weight NAME.weight over the last dimension
Tensor norm(const Weights& w, std::string_view name, const Hparams& c, Tensor x);

// Final norm and logits of the rows that need them: [T, D] -> [O, V]. `embd` serves as output
// matrix if the file has no output.weight.
Tensor head(const Weights& w, const Hparams& c, Tensor h, Tensor embd, const Inputs& in);

// The divisors of the rope frequencies that a file carries [R / 2], or none: rope_freqs, or one of
// the two sets of LongRoPE, which is chosen by whether the session's context is longer than the one
// the model was first trained with.
Tensor rope_factors(const Weights& w, const Hparams& c, const Inputs& in);

// A layer while its graph is made.
struct Layer {
  const Weights& w;  // those of the layer: w("attn_norm.weight", ..)
  const Hparams& c;
  const Inputs& in;
  std::int64_t index;
  Tensor angles;  // [T, R] of rope; none if the decoder has none

  const LayerHparams& numbers() const { return c.layer(index); }
};

// What queries or keys go through between projection and attention: x [T, heads, E] -> the same.
// `name` is that of their projection, "attn_q" or "attn_k".
using HeadStep = Tensor (*)(const Layer& l, std::string_view name, Tensor x);
Tensor norm_heads(const Layer& l, std::string_view name, Tensor x);  // RMS norm, NAME_norm.weight
Tensor rope_adjacent(const Layer& l, std::string_view name, Tensor x);  // pairs (0, 1), (2, 3), ..
Tensor rope_halves(const Layer& l, std::string_view name, Tensor x);    // pairs (0, R / 2), ..

// Causal attention with grouped heads: [T, D] -> [T, D].
struct Attention {
  std::array<HeadStep, 4> q_and_k = {};  // in this order
  std::optional<float> scale = {};       // of q.k; 1 / sqrt(E) if it is not given

  Tensor operator()(const Layer& l, Tensor x) const;
};

// down(silu(gate(x)) * up(x)): [T, D] -> [T, D].
Tensor swiglu(const Layer& l, Tensor x);

}  // namespace weft
