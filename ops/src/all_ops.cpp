// The one list of ops, sorted by name: a new op adds its include and its line.
#include "weft/ops/all_ops.h"

#include <algorithm>

#include "weft/ops/attention/attention.h"
#include "weft/ops/attention/attention_temperature.h"
#include "weft/ops/attention/bucket_distances.h"
#include "weft/ops/attention/cache_write.h"
#include "weft/ops/attention/choose_positions.h"
#include "weft/ops/attention/chosen_attention.h"
#include "weft/ops/attention/dot_heads.h"
#include "weft/ops/attention/joined_attention.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/clamp.h"
#include "weft/ops/elementwise/exp.h"
#include "weft/ops/elementwise/gelu.h"
#include "weft/ops/elementwise/gelu_erf.h"
#include "weft/ops/elementwise/lerp.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/relu.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/elementwise/sigmoid.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/elementwise/silu_mul.h"
#include "weft/ops/elementwise/softplus.h"
#include "weft/ops/elementwise/sqrt.h"
#include "weft/ops/elementwise/tanh.h"
#include "weft/ops/elementwise/xielu.h"
#include "weft/ops/ids/divide_ids.h"
#include "weft/ops/ids/gaussian_top_k.h"
#include "weft/ops/ids/get_ids.h"
#include "weft/ops/ids/ids_to_floats.h"
#include "weft/ops/ids/negate_ids.h"
#include "weft/ops/ids/remainder_ids.h"
#include "weft/ops/ids/replace_id.h"
#include "weft/ops/ids/round_to_ids.h"
#include "weft/ops/ids/top_k.h"
#include "weft/ops/norms/layer_norm.h"
#include "weft/ops/norms/normalize_sum.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/norms/rms_norm_mul.h"
#include "weft/ops/norms/softmax.h"
#include "weft/ops/norms/stream_weights.h"
#include "weft/ops/positions/rope.h"
#include "weft/ops/positions/rope_angles.h"
#include "weft/ops/positions/shift_positions.h"
#include "weft/ops/projections/expert_linear.h"
#include "weft/ops/projections/gated_linear.h"
#include "weft/ops/projections/head_linear.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/projections/linear_concat.h"
#include "weft/ops/projections/quantize.h"
#include "weft/ops/ranks/collectives.h"
#include "weft/ops/recurrent/causal_conv.h"
#include "weft/ops/recurrent/centred_conv.h"
#include "weft/ops/recurrent/delta_rule.h"
#include "weft/ops/recurrent/gated_linear_attention.h"
#include "weft/ops/recurrent/head_decay.h"
#include "weft/ops/recurrent/recurrence.h"
#include "weft/ops/recurrent/selective_scan.h"
#include "weft/ops/recurrent/token_shift.h"
#include "weft/ops/rows/concat.h"
#include "weft/ops/rows/concat_heads.h"
#include "weft/ops/rows/copy.h"
#include "weft/ops/rows/gather.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/hadamard.h"
#include "weft/ops/rows/keep_rows.h"
#include "weft/ops/rows/pad_heads.h"
#include "weft/ops/rows/pool_tokens.h"
#include "weft/ops/rows/repeat_heads.h"
#include "weft/ops/rows/scale_heads.h"
#include "weft/ops/rows/slice_heads.h"
#include "weft/ops/rows/views.h"
#include "weft/ops/rows/weighted_sum.h"

namespace weft {
namespace {

constexpr const OpDef* kOps[] = {
    &kAdd,                   //
    &kAllGather,             //
    &kAllReduce,             //
    &kAttention,             //
    &kAttentionTemperature,  //
    &kBiasedAttention,       //
    &kBroadcast,             //
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
    &kHadamard,              //
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
    &kPadHeads,              //
    &kPoolTokens,            //
    &kQuantize,              //
    &kRecurrence,            //
    &kRecv,                  //
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
    &kSend,                  //
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
