#include "weft/base/processor.h"

#include <algorithm>
#include <cstddef>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#endif

namespace weft {

#if defined(__x86_64__)
namespace {

// XCR0 bits of the register states that the operating system must save.
std::uint64_t state_bits(SavedRegisters registers) {
  switch (registers) {
    case SavedRegisters::xmm:
      return 0x2;
    case SavedRegisters::ymm:
      return 0x6;
    case SavedRegisters::zmm:
      return 0xe6;
    case SavedRegisters::tile:
      break;
  }
  return 0x60006;
}

std::uint64_t saved_states() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return state_bits(SavedRegisters::xmm);
  std::uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

}  // namespace

bool processor_has(const CpuidBit& where) noexcept {
  static const std::uint64_t saved = saved_states();
  const std::uint64_t needed = state_bits(where.saved);
  unsigned registers[4] = {};
  if (!__get_cpuid_count(where.leaf, where.subleaf, &registers[0], &registers[1], &registers[2],
                         &registers[3]))
    return false;
  return (saved & needed) == needed &&
         (registers[static_cast<std::size_t>(where.reg)] >> where.bit & 1);
}

#else

bool processor_has(const CpuidBit&) noexcept {
  return false;
}

#endif

#if defined(__linux__) && !defined(__x86_64__)

bool processor_has(const HwcapBit& where) noexcept {
  return getauxval(where.word == HwcapWord::hwcap ? AT_HWCAP : AT_HWCAP2) >> where.bit & 1;
}

#else

bool processor_has(const HwcapBit&) noexcept {
  return false;
}

#endif

VectorSet widest_vectors() noexcept {
  static const VectorSet widest = [] {
    const auto has = [](const CpuidBit& bit) { return processor_has(bit); };
    if (std::ranges::all_of(kAvx512Bits, has)) return VectorSet::avx512;
    return std::ranges::all_of(kAvx2Bits, has) ? VectorSet::avx2 : VectorSet::any;
  }();
  return widest;
}

}  // namespace weft
