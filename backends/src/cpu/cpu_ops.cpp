#include "cpu/cpu_ops.h"

#include <string>

#include "intern.h"

namespace weft::cpu {

extern const CpuOp kCpuAdd, kCpuAttention, kCpuBiasedAttention, kCpuCacheWrite, kCpuCausalConv,
    kCpuClamp, kCpuConcat, kCpuConcatHeads, kCpuDeltaRule, kCpuExpertLinear, kCpuGatedLinear,
    kCpuGatedLinearAttention, kCpuGather, kCpuGelu, kCpuGetRows, kCpuHeadDecay, kCpuHeadLinear,
    kCpuKeepRows, kCpuLayerNorm, kCpuLinear, kCpuLinearConcat, kCpuMul, kCpuNormalizeSum,
    kCpuQuantize, kCpuRecurrence, kCpuRelu, kCpuRmsNorm, kCpuRmsNormMul, kCpuRope, kCpuRopeAngles,
    kCpuScale, kCpuScaleHeads, kCpuSelectiveScan, kCpuSigmoid, kCpuSilu, kCpuSliceHeads,
    kCpuSoftmax, kCpuSoftplus, kCpuTanh, kCpuTokenShift, kCpuTopK, kCpuWeightedSum;

namespace {

constexpr const CpuOp* kOps[] = {
    &kCpuAdd,                   //
    &kCpuAttention,             //
    &kCpuBiasedAttention,       //
    &kCpuCacheWrite,            //
    &kCpuCausalConv,            //
    &kCpuClamp,                 //
    &kCpuConcat,                //
    &kCpuConcatHeads,           //
    &kCpuDeltaRule,             //
    &kCpuExpertLinear,          //
    &kCpuGatedLinear,           //
    &kCpuGatedLinearAttention,  //
    &kCpuGather,                //
    &kCpuGelu,                  //
    &kCpuGetRows,               //
    &kCpuHeadDecay,             //
    &kCpuHeadLinear,            //
    &kCpuKeepRows,              //
    &kCpuLayerNorm,             //
    &kCpuLinear,                //
    &kCpuLinearConcat,          //
    &kCpuMul,                   //
    &kCpuNormalizeSum,          //
    &kCpuQuantize,              //
    &kCpuRecurrence,            //
    &kCpuRelu,                  //
    &kCpuRmsNorm,               //
    &kCpuRmsNormMul,            //
    &kCpuRope,                  //
    &kCpuRopeAngles,            //
    &kCpuScale,                 //
    &kCpuScaleHeads,            //
    &kCpuSelectiveScan,         //
    &kCpuSigmoid,               //
    &kCpuSilu,                  //
    &kCpuSliceHeads,            //
    &kCpuSoftmax,               //
    &kCpuSoftplus,              //
    &kCpuTanh,                  //
    &kCpuTokenShift,            //
    &kCpuTopK,                  //
    &kCpuWeightedSum,           //
};

}  // namespace

std::span<const CpuOp* const> cpu_ops() {
  return kOps;
}

std::string_view row_name(std::string_view what, const InstructionSet& isa) {
  return backends::intern(std::string(what) + " " + std::string(isa.name));
}

std::optional<Kernel> with_row(std::string_view what, std::span<const KernelRow<KernelFn>> rows,
                               FeatureSet has, Kernel kernel) {
  const auto* row = first_fit(rows, has);
  if (!row) return std::nullopt;
  kernel.row = row_name(what, *row->isa);
  kernel.run = row->run;
  return kernel;
}

}  // namespace weft::cpu
