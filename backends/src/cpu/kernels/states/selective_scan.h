#pragma once

#include <cstdint>

#include "cpu/isa_tags.h"
#include "cpu/kernels/linear/token_block.h"

namespace weft::cpu {

// A tile of channels over a block of tokens (weft/ops/recurrent/selective_scan.h). Except for b and
// c, all pointers are those of the first channel of the tile; `from` and `to` have N floats per
// channel.
struct SelectiveScanBlock {
  TokenBlock tokens;
  std::int64_t n = 0, n_channels = 0;  // n_channels is at most kTile
  TokenRows x, dt, b, c;
  const float* a = nullptr;    // [N, kTile]
  bool a_is_negative = false;  // no element is positive
  float* state = nullptr;      // [N, kTile], contents undefined
  float* y = nullptr;
  std::int64_t y_stride = 0;
};

struct SelectiveScanKernels {
  static constexpr std::int64_t kTile = 16;
  // tile [N, kTile] of a [n_channels, n], `stride` floats from row to row. Returns whether no
  // element is positive.
  bool (*rates)(const float* a, std::int64_t stride, std::int64_t n_channels, std::int64_t n,
                float* tile) noexcept = nullptr;
  void (*block)(const SelectiveScanBlock& block) noexcept = nullptr;
};

// Lanes are channels, so that sums over N need no sums across lanes. The state of a tile stays in
// the first cache for all tokens of the block. The factor exp(dt * a) is rounded to f32, so it is
// infinite if dt * a exceeds 88.7.
template <class Arch>
struct SelectiveScan {
  static SelectiveScanKernels run() noexcept;
};

}  // namespace weft::cpu
