#include "weft/base/processor.h"

#include <doctest/doctest.h>

namespace weft {
namespace {

TEST_CASE("a processor lacks what it does not report") {
  CHECK_FALSE(processor_has(CpuidBit{0x7fff'ffff, 0, CpuidRegister::eax, 0, SavedRegisters::xmm}));
  // Every processor of the kind: SSE2, or the unit for vectors of 64-bit Arm.
  const bool sse2 = processor_has(CpuidBit{1, 0, CpuidRegister::edx, 26, SavedRegisters::xmm});
  const bool asimd = processor_has(HwcapBit{HwcapWord::hwcap, 1});
  CHECK(int{sse2} + int{asimd} == 1);
}

TEST_CASE("code on vectors is chosen by what the processor reports") {
  bool avx512 = true, avx2 = true;
  for (const CpuidBit& bit : kAvx512Bits) avx512 = avx512 && processor_has(bit);
  for (const CpuidBit& bit : kAvx2Bits) avx2 = avx2 && processor_has(bit);
  CHECK((widest_vectors() == VectorSet::avx512) == avx512);
  CHECK((widest_vectors() == VectorSet::any) == (!avx512 && !avx2));
  int calls = 0;
  run_on_widest_vectors([&]() __attribute__((always_inline)) { ++calls; });
  CHECK(calls == 1);
}

}  // namespace
}  // namespace weft
