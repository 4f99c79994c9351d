#pragma once

#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// y = x / sqrt(mean(x^2) + eps) * w over d floats; w may be null (all ones), y may be x.
template <class Arch>
struct RmsNorm {
  static void run(const float* x, const float* w, float* y, std::int64_t d, float eps) noexcept;
};

}  // namespace weft::cpu
