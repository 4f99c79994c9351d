#pragma once

#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// Heads of one token, one after the other. The first n_rot of the e elements of each are rotated,
// the others copied.
struct RopeArgs {
  const float* x = nullptr;
  float* y = nullptr;             // may be x
  const float* angles = nullptr;  // n_rot / 2 pairs (cos, sin)
  std::int64_t n_heads = 0, e = 0, n_rot = 0;
};
struct RopeKernels {
  void (*adjacent)(const RopeArgs& args) noexcept = nullptr;  // pairs (x[2i], x[2i + 1])
  void (*halves)(const RopeArgs& args) noexcept = nullptr;    // pairs (x[i], x[i + n_rot / 2])
};

template <class Arch>
struct Rope {
  static RopeKernels run() noexcept;
};

}  // namespace weft::cpu
