#pragma once

namespace weft::cpu {

// Whether kernels of avx512vnni may use VBMI: where the machine has it, and WEFT_CPU_ISA does not
// ask for avx512vnni and so for nothing more.
bool has_vbmi();

}  // namespace weft::cpu
