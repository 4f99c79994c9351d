#pragma once
// Which nodes multiply rows of activations by weight matrices.

#include <span>

#include "weft/graph/graph.h"
#include "weft/ops/projections/expert_linear.h"
#include "weft/ops/projections/gated_linear.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/projections/linear_concat.h"

namespace weft {

// Weights of a projection; empty for other ops. Its activations are input 0. The matrices of
// head_linear, one per head, do not count: its activations are always f32.
inline std::span<const NodeId> projection_weights(const Node& node) {
  const std::span<const NodeId> inputs = node.inputs;
  if (node.op == &kLinear || node.op == &kExpertLinear) return inputs.subspan(1, 1);
  if (node.op == &kGatedLinear) return inputs.subspan(1, 2);
  if (node.op == &kLinearConcat)
    return inputs.subspan(1, static_cast<std::size_t>(node.attrs.as<LinearConcatAttrs>().count));
  return {};
}

}  // namespace weft
