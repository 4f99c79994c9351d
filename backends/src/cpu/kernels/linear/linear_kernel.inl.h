#pragma once
// Makes a LinearKernel from a class, whose run() loops over tiles of the sizes in its kTokenTiles.

#include "cpu/kernels/linear/linear_kernel.h"

namespace weft::cpu {

// A function with an address: run() of such classes is inlined.
template <class Kernel>
void run_linear(const LinearArgs& args) noexcept {
  Kernel::run(args);
}

template <class Kernel>
constexpr LinearKernel linear_kernel() {
  return {&run_linear<Kernel>, Kernel::kTokenTiles};
}

}  // namespace weft::cpu
