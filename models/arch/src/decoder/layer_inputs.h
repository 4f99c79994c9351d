#pragma once
// A vector per token and layer beside the residual stream, made from the token and its embedding.
// Source: Gemma 3n model card (Google DeepMind 2025), "per-layer embeddings".

#include "weft/arch/blocks.h"

namespace weft::arch {

// The vectors of width P of all layers, side by side: [T, L * P]. h [T, D] are the embeddings.
Tensor layer_inputs(const Weights& w, const Hparams& c, const Inputs& in, std::int64_t P, Tensor h);

// The vector of layer l, each element gated by x [T, D], projected to the width of the stream and
// normalized: [T, D]. `inputs` is the result of layer_inputs().
Tensor gated_layer_input(const Layer& l, Tensor x, Tensor inputs);

}  // namespace weft::arch
