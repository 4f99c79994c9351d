#pragma once

#include <cstdint>

#include "cpu/isa_tags.h"
#include "cpu/kernels/linear/token_block.h"

namespace weft::cpu {

// A tile of channels over a block of tokens (weft/ops/recurrent/causal_conv.h). All pointers are
// those of the first channel of the tile; `from` and `to` have K - 1 floats per channel.
struct CausalConvBlock {
  TokenBlock tokens;
  std::int64_t n_channels = 0, taps = 0;  // at most kTile; K
  TokenRows x;
  const float* bias = nullptr;     // may be null
  const float* weights = nullptr;  // [K, kTile]
  float* history = nullptr;        // [K - 1, kTile], contents undefined
  bool silu = false;               // whether to apply silu to the outputs
  float* y = nullptr;
  std::int64_t y_stride = 0;
};

struct CausalConvKernels {
  static constexpr std::int64_t kTile = 64;
  // tile [K, kTile] of w [n_channels, K], `stride` floats from row to row.
  void (*weights)(const float* w, std::int64_t stride, std::int64_t n_channels, std::int64_t taps,
                  float* tile) noexcept = nullptr;
  void (*block)(const CausalConvBlock& block) noexcept = nullptr;
};

// Every output adds its products in the order of the taps, beginning with the bias.
template <class Arch>
struct CausalConv {
  static CausalConvKernels run() noexcept;
};

}  // namespace weft::cpu
