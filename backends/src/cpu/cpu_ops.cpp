#include "cpu/cpu_ops.h"

#include <string>

#include "intern.h"

namespace weft::cpu {

extern const CpuOp kCpuAdd, kCpuAttention, kCpuCacheWrite, kCpuConcat, kCpuGatedLinear, kCpuGetRows,
    kCpuKeepRows, kCpuLinear, kCpuLinearConcat, kCpuMul, kCpuQuantize, kCpuRecurrence, kCpuRmsNorm,
    kCpuRmsNormMul, kCpuRope, kCpuRopeAngles, kCpuScale, kCpuSilu;

std::span<const CpuOp* const> cpu_ops() {
  static constexpr const CpuOp* kOps[] = {
      &kCpuAdd,        &kCpuAttention,  &kCpuCacheWrite, &kCpuConcat,       &kCpuGatedLinear,
      &kCpuGetRows,    &kCpuKeepRows,   &kCpuLinear,     &kCpuLinearConcat, &kCpuMul,
      &kCpuQuantize,   &kCpuRecurrence, &kCpuRmsNorm,    &kCpuRmsNormMul,   &kCpuRope,
      &kCpuRopeAngles, &kCpuScale,      &kCpuSilu,
  };
  return kOps;
}

std::string_view row_name(std::string_view what, Isa isa) {
  return intern(std::string(what) + " " + std::string(to_string(isa)));
}

}  // namespace weft::cpu
