#pragma once

#include "cpu/kernels/lattice_source.inl.h"
#include "cpu/kernels/linear_f32.inl.h"
#include "cpu/kernels/linear_panels_f32.inl.h"
#include "cpu/kernels/linear_panels_q8a.inl.h"
#include "cpu/kernels/linear_q8a.inl.h"

namespace weft::cpu {

template <class Arch, class Format>
struct WeightFunctions {
  using C = Codec<Arch, Format>;
  static constexpr bool kIsScalar = !C::kHasIntegerRow && !C::kIsTable;
  static constexpr bool kHasPanels = PanelCodec<Arch, Format>::kExists;
  static void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                     float* out) noexcept {
    C::decode(row, begin, end, out);
  }
  static void from_f32(const LinearArgs& args) noexcept {
#ifdef WEFT_SIXTEEN
    if constexpr (kIsScalar) return PanelsF32<Arch, C, true>::run(args);
#endif
    LinearF32<Arch, C>::run(args);
  }
  static void from_q8a(const LinearArgs& args) noexcept {
#ifdef WEFT_SIXTEEN
    if constexpr (kHasPanels) {
      PanelsQ8A<Arch, BlockSource<Arch, Format, FileBlocks<Arch, Format>>>::run(args);
    } else {
      PanelsQ8A<Arch, LatticeSource<Arch, C>>::run(args);
    }
#else
    LinearQ8A<Arch, C>::run(args);
#endif
  }
  static void panels_from_f32(const LinearArgs& args) noexcept {
    PanelsF32<Arch, C, false>::run(args);
  }
#ifdef WEFT_SIXTEEN
  static void panels_from_q8a(const LinearArgs& args) noexcept {
    PanelsQ8A<Arch, BlockSource<Arch, Format, PanelBlocks<Arch, Format>>>::run(args);
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
#ifdef WEFT_SIXTEEN
  if constexpr (PanelCodec<Arch, Format>::kExists) kernels.panels_from_q8a = &F::panels_from_q8a;
#endif
  return kernels;
}

}  // namespace weft::cpu
