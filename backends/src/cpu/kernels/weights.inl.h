#pragma once

#include "cpu/kernels/linear_f32.inl.h"
#include "cpu/kernels/linear_panels_f32.inl.h"
#include "cpu/kernels/linear_panels_q8a.inl.h"
#include "cpu/kernels/linear_q8a.inl.h"
#include "cpu/kernels/linear_rows_q8a.inl.h"

namespace weft::cpu {

template <class Arch, class Format>
struct WeightFunctions {
  using C = Codec<Arch, Format>;
  static void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                     float* out) noexcept {
    C::decode(row, begin, end, out);
  }
  static void from_f32(const LinearArgs& args) noexcept { LinearF32<Arch, C>::run(args); }
  static void from_q8a(const LinearArgs& args) noexcept {
#ifdef __AVX512VNNI__
    if constexpr (C::kByRows) return RowsQ8A<Arch, C>::run(args);
#endif
    LinearQ8A<Arch, C>::run(args);
  }
  static void panels_from_f32(const LinearArgs& args) noexcept {
    PanelsF32<Arch, C>::run(args);
  }
#ifdef __AVX2__
  static void panels_from_q8a(const LinearArgs& args) noexcept {
    PanelsQ8A<Arch, PanelCodec<Arch, Format>>::run(args);
  }
#endif
};

template <class Arch, class Format>
WeightKernels Weights<Arch, Format>::run() noexcept {
  using F = WeightFunctions<Arch, Format>;
  WeightKernels kernels{.decode = &F::decode, .from_f32 = &F::from_f32};
  if constexpr (Codec<Arch, Format>::kHasIntegerRow) {
    kernels.from_q8a = &F::from_q8a;
  } else if constexpr (!Codec<Arch, Format>::kIsTable) {
    kernels.panels_from_f32 = &F::panels_from_f32;
  }
#ifdef __AVX2__
  if constexpr (PanelCodec<Arch, Format>::kExists) kernels.panels_from_q8a = &F::panels_from_q8a;
#endif
  return kernels;
}

}  // namespace weft::cpu
