#pragma once
// Kernels for weights of one format: decode them, multiply f32 activations by them, and multiply
// Q8A activations by them if the format has an integer row. Weights need no alignment, and are
// never read past their last row.

#include "cpu/isa_tags.h"
#include "cpu/kernels/linear/linear_kernel.h"
#include "cpu/weight_tags.h"

namespace weft::cpu {

// The kernels of one format, given by its tag (cpu/weight_tags.h: one for every format with its own
// kernels). Its codec is kernels/weights/<format>.inl.h.
template <class Arch, class Format>
struct Weights {
  static WeightKernels run() noexcept;
};

}  // namespace weft::cpu
