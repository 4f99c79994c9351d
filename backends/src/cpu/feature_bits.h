#pragma once
// The bits in which a processor, or the operating system, reports features.

#include <cstdint>

#include "cpu/feature_list.h"

namespace weft::cpu {

enum class CpuidRegister : std::uint8_t { eax, ebx, ecx, edx };
// Registers that the operating system must save on a context switch, with all narrower ones.
enum class SavedRegisters : std::uint8_t { xmm, ymm, zmm, tile };

// x86: the result of the instruction CPUID.
struct CpuidBit {
  Feature feature;
  std::uint32_t leaf, subleaf;
  CpuidRegister reg;
  std::uint32_t bit;
  SavedRegisters saved;
};

// Linux on other processors: the words AT_HWCAP and AT_HWCAP2 of the auxiliary vector.
enum class HwcapWord : std::uint8_t { hwcap, hwcap2 };

struct HwcapBit {
  Feature feature;
  HwcapWord word;
  std::uint32_t bit;
};

}  // namespace weft::cpu
