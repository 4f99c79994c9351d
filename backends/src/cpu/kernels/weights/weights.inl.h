#pragma once

#include <type_traits>

#include "cpu/kernels/lattice/lattice_source.inl.h"
#include "cpu/kernels/linear/linear_f32.inl.h"
#include "cpu/kernels/linear/linear_kernel.inl.h"
#include "cpu/kernels/linear/linear_panels_f32.inl.h"
#include "cpu/kernels/linear/linear_panels_q8a.inl.h"
#include "cpu/kernels/linear/linear_q8a.inl.h"
#include "cpu/kernels/weights/weights.h"

namespace weft::cpu {

template <class Arch, class Format>
struct WeightFunctions {
  using C = Codec<Arch, Format>;
  static constexpr bool kIsScalar = !C::kHasIntegerRow && !C::kIsTable;
  using FromF32 = std::conditional_t<kIsScalar, PanelsF32<Arch, C, true>, LinearF32<Arch, C>>;
#ifdef WEFT_SIXTEEN
  using InFile = BlockSource<Arch, Format, FileBlocks<Arch, Format>>;
  using Source =
      std::conditional_t<PanelCodec<Arch, Format>::kExists, InFile, LatticeSource<Arch, C>>;
  using FromQ8A = PanelsQ8A<Arch, Source>;
  using PanelsFromQ8A = PanelsQ8A<Arch, BlockSource<Arch, Format, PanelBlocks<Arch, Format>>>;
#else
  using FromQ8A = LinearQ8A<Arch, C>;
#endif
  using PanelsFromF32 = PanelsF32<Arch, C, false>;
  static void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                     float* out) noexcept {
    C::decode(row, begin, end, out);
  }
};

template <class Arch, class Format>
WeightKernels Weights<Arch, Format>::run() noexcept {
  using F = WeightFunctions<Arch, Format>;
  WeightKernels kernels{.decode = &F::decode, .from_f32 = linear_kernel<typename F::FromF32>()};
  if constexpr (Codec<Arch, Format>::kHasIntegerRow) {
    kernels.from_q8a = linear_kernel<typename F::FromQ8A>();
  } else if constexpr (!Codec<Arch, Format>::kIsTable) {
    kernels.panels_from_f32 = linear_kernel<typename F::PanelsFromF32>();
  }
#ifdef WEFT_SIXTEEN
  if constexpr (PanelCodec<Arch, Format>::kExists)
    kernels.panels_from_q8a = linear_kernel<typename F::PanelsFromQ8A>();
#endif
  return kernels;
}

}  // namespace weft::cpu
