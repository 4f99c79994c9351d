#pragma once
// Reads the features of x86 processors.

#include <cstdint>

#include "cpu/feature_list.h"

namespace weft::cpu {

enum class CpuidRegister : std::uint8_t { eax, ebx, ecx, edx };
// Registers that the operating system must save on a context switch, with all narrower ones.
enum class SavedRegisters : std::uint8_t { xmm, ymm, zmm, tile };

struct CpuidBit {
  Feature feature;
  std::uint32_t leaf, subleaf;
  CpuidRegister reg;
  std::uint32_t bit;
  SavedRegisters saved;
};

}  // namespace weft::cpu
