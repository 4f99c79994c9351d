// The only code that queries the processor.

#include "cpu/isa_table.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#endif

namespace weft::cpu {

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

bool processor_has(const CpuidBit& where) {
  unsigned registers[4] = {};
  if (!__get_cpuid_count(where.leaf, where.subleaf, &registers[0], &registers[1], &registers[2],
                         &registers[3]))
    return false;
  return registers[static_cast<std::size_t>(where.reg)] >> where.bit & 1;
}

}  // namespace

FeatureSet machine_features() {
  static const FeatureSet features = [] {
    FeatureSet found;
    const std::uint64_t saved = saved_states();
    for (const CpuidBit& where : kCpuidBits) {
      const std::uint64_t needed = state_bits(where.saved);
      if (processor_has(where) && (saved & needed) == needed) found.add(where.feature);
    }
    return found;
  }();
  return features;
}

#elif defined(__linux__)

FeatureSet machine_features() {
  static const FeatureSet features = [] {
    FeatureSet found;
    for (const HwcapBit& where : kHwcapBits) {
      const unsigned long word = getauxval(where.word == HwcapWord::hwcap ? AT_HWCAP : AT_HWCAP2);
      if (word >> where.bit & 1) found.add(where.feature);
    }
    return found;
  }();
  return features;
}

#else

// No source of features: instruction sets may only use what every such processor has.
FeatureSet machine_features() {
  return {};
}

#endif

}  // namespace weft::cpu
