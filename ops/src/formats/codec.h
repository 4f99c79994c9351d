#pragma once
// Makes the row-wise functions of a Format from the block-wise ones of a codec type. Blocks are
// copied in and out because they need not be aligned in a file.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weft/ops/formats/half.h"

namespace weft::formats {

template <class Codec>
void decode_row(const std::byte* in, float* out, std::int64_t n_elems) {
  using Block = typename Codec::Block;
  for (std::int64_t i = 0; i < n_elems; i += Codec::kBlock, in += sizeof(Block)) {
    Block block;
    std::memcpy(&block, in, sizeof(Block));
    Codec::decode(block, out + i);
  }
}

template <class Codec>
void encode_row(const float* in, std::byte* out, std::int64_t n_elems) {
  using Block = typename Codec::Block;
  for (std::int64_t i = 0; i < n_elems; i += Codec::kBlock, out += sizeof(Block)) {
    Block block{};
    Codec::encode(in + i, block);
    std::memcpy(out, &block, sizeof(Block));
  }
}

template <class Codec>
void encode_weighted_row(const float* in, const float* importance, std::byte* out,
                         std::int64_t n_elems) {
  using Block = typename Codec::Block;
  for (std::int64_t i = 0; i < n_elems; i += Codec::kBlock, out += sizeof(Block)) {
    Block block{};
    Codec::encode_weighted(in + i, importance + i, block);
    std::memcpy(out, &block, sizeof(Block));
  }
}

// A scale as it will be read back; scales past the range of f16 stay at its end, so that nothing
// decodes to infinity.
inline std::uint16_t scale_to_f16(float scale) {
  constexpr float kMax = 65504;
  return f32_to_f16(scale > kMax ? kMax : scale < -kMax ? -kMax : scale);
}

// Nearest integer within [low, high]; `low` for a NaN.
inline int round_to(double x, int low, int high) {
  const double r = std::nearbyint(x);
  return !(r > low) ? low : r >= high ? high : static_cast<int>(r);
}

}  // namespace weft::formats
