// The one list of ops, sorted by name: a new op adds its include and its line.
#include "weft/ops/all_ops.h"

#include <algorithm>

#include "weft/ops/add.h"
#include "weft/ops/attention.h"
#include "weft/ops/cache_write.h"
#include "weft/ops/concat.h"
#include "weft/ops/copy.h"
#include "weft/ops/gated_linear.h"
#include "weft/ops/get_rows.h"
#include "weft/ops/keep_rows.h"
#include "weft/ops/linear.h"
#include "weft/ops/linear_concat.h"
#include "weft/ops/mul.h"
#include "weft/ops/quantize.h"
#include "weft/ops/recurrence.h"
#include "weft/ops/rms_norm.h"
#include "weft/ops/rms_norm_mul.h"
#include "weft/ops/rope.h"
#include "weft/ops/rope_angles.h"
#include "weft/ops/scale.h"
#include "weft/ops/silu.h"
#include "weft/ops/views.h"

namespace weft {
namespace {

constexpr const OpDef* kOps[] = {
    &kAdd,           //
    &kAttention,     //
    &kCacheWrite,    //
    &kConcat,        //
    &kCopy,          //
    &kGatedLinear,   //
    &kGetRows,       //
    &kKeepRows,      //
    &kLinear,        //
    &kLinearConcat,  //
    &kMul,           //
    &kQuantize,      //
    &kRecurrence,    //
    &kReshape,       //
    &kRmsNorm,       //
    &kRmsNormMul,    //
    &kRope,          //
    &kRopeAngles,    //
    &kScale,         //
    &kSilu,          //
    &kSlice,         //
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
