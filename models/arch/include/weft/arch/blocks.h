#pragma once
// Pieces that several architectures share. A piece comes here once two of them use it.

#include <string_view>

#include "weft/arch/builder.h"

namespace weft {

// x NAME.weight^T (+ NAME.bias where the file has one): [T, K] -> [T, N]
Tensor project(const Weights& w, std::string_view name, std::int64_t N, std::int64_t K, Tensor x);

// RMS norm with the weight NAME.weight over the last dimension
Tensor norm(const Weights& w, std::string_view name, const Hparams& c, Tensor x);

// The queries, keys and values of a layer.
struct Heads {
  Tensor q;  // [T, H, E]
  Tensor k;  // [T, G, E]
  Tensor v;  // [T, G, Ev]
};
Heads project_heads(const Weights& blk, const Hparams& c, Tensor x);

// down(silu(gate(x)) * up(x)): [T, D] -> [T, D].
Tensor swiglu(const Weights& blk, const Hparams& c, Tensor x);

// Final norm and logits of the rows that need them: [T, D] -> [O, V]. `embd` serves where the file
// has no output.weight.
Tensor head(const Weights& w, const Hparams& c, Tensor h, Tensor embd, const Inputs& in);

// The divisors of the rope frequencies that a file carries [R / 2], or none: rope_freqs, or one of
// the two sets of LongRoPE, which is chosen by whether the session's context is longer than the one
// the model was first trained with.
Tensor rope_factors(const Weights& w, const Hparams& c, const Inputs& in);

}  // namespace weft
