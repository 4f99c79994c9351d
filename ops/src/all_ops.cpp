// The one list of ops, sorted by name: a new op adds its include and its line.
#include "weft/ops/all_ops.h"

#include <algorithm>

#include "weft/ops/add.h"
#include "weft/ops/attention.h"
#include "weft/ops/attention_temperature.h"
#include "weft/ops/bucket_distances.h"
#include "weft/ops/cache_write.h"
#include "weft/ops/causal_conv.h"
#include "weft/ops/centred_conv.h"
#include "weft/ops/choose_positions.h"
#include "weft/ops/chosen_attention.h"
#include "weft/ops/clamp.h"
#include "weft/ops/concat.h"
#include "weft/ops/concat_heads.h"
#include "weft/ops/copy.h"
#include "weft/ops/delta_rule.h"
#include "weft/ops/divide_ids.h"
#include "weft/ops/dot_heads.h"
#include "weft/ops/exp.h"
#include "weft/ops/expert_linear.h"
#include "weft/ops/gated_linear.h"
#include "weft/ops/gated_linear_attention.h"
#include "weft/ops/gather.h"
#include "weft/ops/gaussian_top_k.h"
#include "weft/ops/gelu.h"
#include "weft/ops/gelu_erf.h"
#include "weft/ops/get_ids.h"
#include "weft/ops/get_rows.h"
#include "weft/ops/head_decay.h"
#include "weft/ops/head_linear.h"
#include "weft/ops/ids_to_floats.h"
#include "weft/ops/joined_attention.h"
#include "weft/ops/keep_rows.h"
#include "weft/ops/layer_norm.h"
#include "weft/ops/lerp.h"
#include "weft/ops/linear.h"
#include "weft/ops/linear_concat.h"
#include "weft/ops/mul.h"
#include "weft/ops/negate_ids.h"
#include "weft/ops/normalize_sum.h"
#include "weft/ops/pool_tokens.h"
#include "weft/ops/quantize.h"
#include "weft/ops/recurrence.h"
#include "weft/ops/relu.h"
#include "weft/ops/remainder_ids.h"
#include "weft/ops/repeat_heads.h"
#include "weft/ops/replace_id.h"
#include "weft/ops/rms_norm.h"
#include "weft/ops/rms_norm_mul.h"
#include "weft/ops/rope.h"
#include "weft/ops/rope_angles.h"
#include "weft/ops/round_to_ids.h"
#include "weft/ops/scale.h"
#include "weft/ops/scale_heads.h"
#include "weft/ops/selective_scan.h"
#include "weft/ops/shift_positions.h"
#include "weft/ops/sigmoid.h"
#include "weft/ops/silu.h"
#include "weft/ops/silu_mul.h"
#include "weft/ops/slice_heads.h"
#include "weft/ops/softmax.h"
#include "weft/ops/softplus.h"
#include "weft/ops/sqrt.h"
#include "weft/ops/stream_weights.h"
#include "weft/ops/tanh.h"
#include "weft/ops/token_shift.h"
#include "weft/ops/top_k.h"
#include "weft/ops/views.h"
#include "weft/ops/weighted_sum.h"
#include "weft/ops/xielu.h"

namespace weft {
namespace {

constexpr const OpDef* kOps[] = {
    &kAdd,                   //
    &kAttention,             //
    &kAttentionTemperature,  //
    &kBiasedAttention,       //
    &kBucketDistances,       //
    &kCacheWrite,            //
    &kCausalConv,            //
    &kCentredConv,           //
    &kChoosePositions,       //
    &kChosenAttention,       //
    &kClamp,                 //
    &kConcat,                //
    &kConcatHeads,           //
    &kCopy,                  //
    &kDeltaRule,             //
    &kDivideIds,             //
    &kDotHeads,              //
    &kExp,                   //
    &kExpertLinear,          //
    &kGatedLinear,           //
    &kGatedLinearAttention,  //
    &kGather,                //
    &kGaussianTopK,          //
    &kGelu,                  //
    &kGeluErf,               //
    &kGetIds,                //
    &kGetRows,               //
    &kHeadDecay,             //
    &kHeadLinear,            //
    &kIdsToFloats,           //
    &kJoinedAttention,       //
    &kKeepRows,              //
    &kLayerNorm,             //
    &kLerp,                  //
    &kLinear,                //
    &kLinearConcat,          //
    &kMul,                   //
    &kNegateIds,             //
    &kNormalizeSum,          //
    &kPoolTokens,            //
    &kQuantize,              //
    &kRecurrence,            //
    &kRelu,                  //
    &kRemainderIds,          //
    &kRepeatHeads,           //
    &kReplaceId,             //
    &kReshape,               //
    &kRmsNorm,               //
    &kRmsNormMul,            //
    &kRope,                  //
    &kRopeAngles,            //
    &kRoundToIds,            //
    &kScale,                 //
    &kScaleHeads,            //
    &kSelectiveScan,         //
    &kShiftPositions,        //
    &kSigmoid,               //
    &kSilu,                  //
    &kSiluMul,               //
    &kSlice,                 //
    &kSliceHeads,            //
    &kSoftmax,               //
    &kSoftplus,              //
    &kSqrt,                  //
    &kStreamWeights,         //
    &kTanh,                  //
    &kTokenShift,            //
    &kTopK,                  //
    &kWeightedSum,           //
    &kXielu,                 //
};

}  // namespace

std::span<const OpDef* const> all_ops() {
  return kOps;
}

const OpDef* find_op(std::string_view name) {
  const auto it = std::find_if(std::begin(kOps), std::end(kOps),
                               [&](const OpDef* op) { return op->name == name; });
  return it == std::end(kOps) ? nullptr : *it;
}

}  // namespace weft
