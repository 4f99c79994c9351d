#pragma once
// Alternating updates: several residual streams. A layer sees the first; the others are
// predicted before the layer and corrected after it, by mixing with coefficients of the token.
// Source: Baykal et al. 2023, arXiv:2301.13310.

#include <vector>

#include "weft/arch/blocks.h"

namespace weft::arch {

using Streams = std::vector<Tensor>;  // 4 times [T, D]

// The embeddings h [T, D], and their projections with the same length.
Streams first_streams(const Weights& w, Tensor h);
// What the layer's input is expected to become.
Streams predict(const Layer& l, const Streams& streams);
// The prediction after the layer made y [T, D] of its first stream.
Streams correct(const Layer& l, const Streams& predicted, Tensor y);
// The mean of the streams, all but the first projected and with the length of the first: [T, D].
Tensor mean_of(const Weights& w, const Streams& streams);

}  // namespace weft::arch
