#pragma once

#include <cstdint>

#include "cpu/isa.h"

namespace weft::cpu {

// Rotates the first n_rot elements of one head; y may be x, what lies behind them is left alone.
struct RopeKernels {
  // y = x * cos + (x with the elements of each pair swapped) * sin; cos, sin: n_rot floats, sin
  // negated for the first element of a pair.
  void (*adjacent)(const float* x, const float* cos, const float* sin, float* y,
                   std::int64_t n_rot) noexcept = nullptr;
  // Pairs (x[i], x[i + n_rot / 2]); cos, sin: n_rot / 2 floats.
  void (*halves)(const float* x, const float* cos, const float* sin, float* y,
                 std::int64_t n_rot) noexcept = nullptr;
};

template <class Arch>
struct Rope {
  static RopeKernels run() noexcept;
};

}  // namespace weft::cpu
