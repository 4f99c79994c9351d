#include "cpu/cpu_ops.h"

#include <string>

#include "weft/base/intern.h"

namespace weft::cpu {

extern const CpuOp kCpuAdd, kCpuAttention, kCpuAttentionTemperature, kCpuBiasedAttention,
    kCpuBucketDistances, kCpuCacheWrite, kCpuCausalConv, kCpuCentredConv, kCpuChoosePositions,
    kCpuChosenAttention, kCpuClamp, kCpuConcat, kCpuConcatHeads, kCpuDeltaRule, kCpuDivideIds,
    kCpuDotHeads, kCpuExp, kCpuExpertLinear, kCpuGatedLinear, kCpuGatedLinearAttention, kCpuGather,
    kCpuGaussianTopK, kCpuGelu, kCpuGeluErf, kCpuGetIds, kCpuGetRows, kCpuHadamard, kCpuHeadDecay,
    kCpuHeadLinear, kCpuIdsToFloats, kCpuJoinedAttention, kCpuKeepRows, kCpuLayerNorm, kCpuLerp,
    kCpuLinear, kCpuLinearConcat, kCpuMul, kCpuNegateIds, kCpuNormalizeSum, kCpuPadHeads,
    kCpuPoolTokens, kCpuQuantize, kCpuRecurrence, kCpuRelu, kCpuRemainderIds, kCpuRepeatHeads,
    kCpuReplaceId, kCpuRmsNorm, kCpuRmsNormMul, kCpuRope, kCpuRopeAngles, kCpuRoundToIds, kCpuScale,
    kCpuScaleHeads, kCpuSelectiveScan, kCpuShiftPositions, kCpuSigmoid, kCpuSilu, kCpuSiluMul,
    kCpuSliceHeads, kCpuSoftmax, kCpuSoftplus, kCpuSqrt, kCpuStreamWeights, kCpuTanh,
    kCpuTokenShift, kCpuTopK, kCpuWeightedSum, kCpuXielu;

namespace {

constexpr const CpuOp* kOps[] = {
    &kCpuAdd,                   //
    &kCpuAttention,             //
    &kCpuAttentionTemperature,  //
    &kCpuBiasedAttention,       //
    &kCpuBucketDistances,       //
    &kCpuCacheWrite,            //
    &kCpuCausalConv,            //
    &kCpuCentredConv,           //
    &kCpuChoosePositions,       //
    &kCpuChosenAttention,       //
    &kCpuClamp,                 //
    &kCpuConcat,                //
    &kCpuConcatHeads,           //
    &kCpuDeltaRule,             //
    &kCpuDivideIds,             //
    &kCpuDotHeads,              //
    &kCpuExp,                   //
    &kCpuExpertLinear,          //
    &kCpuGatedLinear,           //
    &kCpuGatedLinearAttention,  //
    &kCpuGather,                //
    &kCpuGaussianTopK,          //
    &kCpuGelu,                  //
    &kCpuGeluErf,               //
    &kCpuGetIds,                //
    &kCpuGetRows,               //
    &kCpuHadamard,              //
    &kCpuHeadDecay,             //
    &kCpuHeadLinear,            //
    &kCpuIdsToFloats,           //
    &kCpuJoinedAttention,       //
    &kCpuKeepRows,              //
    &kCpuLayerNorm,             //
    &kCpuLerp,                  //
    &kCpuLinear,                //
    &kCpuLinearConcat,          //
    &kCpuMul,                   //
    &kCpuNegateIds,             //
    &kCpuNormalizeSum,          //
    &kCpuPadHeads,              //
    &kCpuPoolTokens,            //
    &kCpuQuantize,              //
    &kCpuRecurrence,            //
    &kCpuRelu,                  //
    &kCpuRemainderIds,          //
    &kCpuRepeatHeads,           //
    &kCpuReplaceId,             //
    &kCpuRmsNorm,               //
    &kCpuRmsNormMul,            //
    &kCpuRope,                  //
    &kCpuRopeAngles,            //
    &kCpuRoundToIds,            //
    &kCpuScale,                 //
    &kCpuScaleHeads,            //
    &kCpuSelectiveScan,         //
    &kCpuShiftPositions,        //
    &kCpuSigmoid,               //
    &kCpuSilu,                  //
    &kCpuSiluMul,               //
    &kCpuSliceHeads,            //
    &kCpuSoftmax,               //
    &kCpuSoftplus,              //
    &kCpuSqrt,                  //
    &kCpuStreamWeights,         //
    &kCpuTanh,                  //
    &kCpuTokenShift,            //
    &kCpuTopK,                  //
    &kCpuWeightedSum,           //
    &kCpuXielu,                 //
};

}  // namespace

std::span<const CpuOp* const> cpu_ops() {
  return kOps;
}

std::string_view row_name(std::string_view what, const InstructionSet& isa) {
  return intern(std::string(what) + " " + std::string(isa.name));
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
