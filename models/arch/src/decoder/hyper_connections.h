#pragma once
// Manifold-constrained hyper-connections: n residual streams, which a block reads as one and writes
// back to all, with weights that follow from the streams (ops/norms/stream_weights.h). The streams
// h are one row: [T, n D]. Source: Xie et al. 2025, arXiv:2512.24880.

#include "weft/arch/blocks.h"
#include "weft/ops/norms/stream_weights.h"

namespace weft::arch {

// How the tensors of a connection are named, behind its own name.
struct StreamNames {
  std::string_view fn = "_fn", scale = "_scale.weight", base = "_base.weight";
  std::string_view norm = {};  // the weight of the norm of the streams [n D]; empty: none
};

// h with n copies of x [T, D].
Tensor copy_to_streams(Tensor x, std::int64_t n);
// The streams after `block`, which has its own norm, by the tensors NAME_{fn, scale, base}.
Tensor connect(const Layer& l, std::string_view name, const StreamWeightsAttrs& attrs,
               const Block& block, Tensor h, const StreamNames& names = {});
// The sum of the streams by the tensors NAME_{fn, scale, base}: [T, D].
Tensor read_streams(const Weights& w, const Hparams& c, std::string_view name,
                    const StreamWeightsAttrs& attrs, Tensor h, const StreamNames& names = {});

}  // namespace weft::arch
