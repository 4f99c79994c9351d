#pragma once

#include "cpu/kernels/rows/to_f16.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
void ToF16<Arch>::run(const float* x, std::byte* y, std::int64_t n) noexcept {
  using V = typename Simd<Arch>::V;
  constexpr int kLanes = Simd<Arch>::kLanes;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Simd<Arch>::store_f16(V::load_unaligned(x + i), y + 2 * i);
  if (i == n) return;
  alignas(64) std::byte part[2 * kLanes];
  Simd<Arch>::store_f16(Part<Arch>::load(x + i, n - i), part);
  std::memcpy(y + 2 * i, part, static_cast<std::size_t>(2 * (n - i)));
}

}  // namespace weft::cpu
