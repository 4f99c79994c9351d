#pragma once
// Code shared by all steps of attention: prefetches, and how many rows go together.

#include "cpu/kernels/attention/attention.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

// Prefetches during computation: each call of fetch() asks for some cache lines of the next block's
// keys and values, and moves the inputs of the next step into L1.
struct AttentionAhead {
  struct Stream {
    const std::byte *at = nullptr, *end = nullptr;
  };
  Stream keys, values, soon;
  std::int64_t per_call = 0;  // lines of each

  WEFT_INLINE void fetch() {
    fetch(keys);
    fetch(values);
    for (std::int64_t i = 0; i < per_call && soon.at < soon.end; ++i, soon.at += 64)
      __builtin_prefetch(soon.at, 0, 3);
  }
  WEFT_INLINE void fetch(Stream& stream) const {
    for (std::int64_t i = 0; i < per_call && stream.at < stream.end; ++i, stream.at += 64)
      __builtin_prefetch(stream.at, 0, 2);
  }
};

template <class Arch>
struct AttentionRows {
  static constexpr int kLanes = Simd<Arch>::kLanes;
  static constexpr bool kManyRegisters = kLanes == 16;
  static constexpr int kMaxRows = kManyRegisters ? 8 : 6;  // per block of rows
  static constexpr int kPerFetch = 16;  // steps of an inner loop between two fetches
  static_assert(kMaxRows <= AttentionScratch::kMaxRows && kLanes <= AttentionScratch::kLine);

  // Vectors beside each other, so that with R rows the sums fill the registers.
  static constexpr int columns(int r) { return r * 4 <= (kManyRegisters ? 24 : 10) ? 4 : 2; }
};

}  // namespace weft::cpu
