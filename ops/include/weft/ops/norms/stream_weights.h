#pragma once
// The weights by which a block reads n residual streams and writes them again, from projections
// x of the streams of each token (manifold-constrained hyper-connections):
//   read[i]     = sigmoid(scale[0] x[i] + base[i]) + eps
//   write[j]    = 2 sigmoid(scale[1] x[n + j] + base[n + j])
//   mix[i][j]   = Sinkhorn of scale[2] x[2n + i n + j] + base[2n + i n + j]
// The block's input is sum_i read[i] stream[i]; the new stream j is write[j] times the block's
// output, plus sum_i mix[i][j] stream[i].
//
//   y[t, :] = read, then for every j: write[j], mix[0][j], .., mix[n - 1][j]
//   x [T, n (n + 2)] f32     scale [3] f32     base [n (n + 2)] f32     y [T, n (n + 2)] f32
// Without writing, x [T, n], scale [1], base [n]: y [T, n] = read.
//
// Sinkhorn: softmax over j, plus eps; then columns (sums over i) are divided by eps plus their sum,
// and rows and columns in turn, until columns have been divided `iterations` times.
// Source: Xie et al. 2025, arXiv:2512.24880.

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"
#include "weft/graph/view.h"

namespace weft {

inline constexpr std::int32_t kMaxStreams = 16, kMaxSinkhornIterations = 1000;

struct StreamWeightsAttrs {
  std::int32_t n = 1;           // streams: 1 .. kMaxStreams
  std::int32_t iterations = 1;  // Sinkhorn iterations: 1 .. kMaxSinkhornIterations
  float eps = 1e-6f;            // positive
  static constexpr auto fields() {
    using A = StreamWeightsAttrs;
    return std::tuple{field("n", &A::n), field("iterations", &A::iterations),
                      field("eps", &A::eps)};
  }
};

extern const OpDef kStreamWeights;
Tensor stream_weights(Tensor x, Tensor scale, Tensor base, const StreamWeightsAttrs& attrs,
                      SourceLine where = std::source_location::current());

// The definition for rows row0 .. row1 - 1 of y, for backends that split the work. `in` is x, scale
// and base. Does not allocate.
void stream_weights_rows(const StreamWeightsAttrs& attrs, Views in, const View& y,
                         std::int64_t row0, std::int64_t row1) noexcept;

}  // namespace weft
