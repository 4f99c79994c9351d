#pragma once
// Ops by name, for builder code in other languages and for files that describe graphs. The nodes
// are those that the functions of weft/ops make: the same paths, shapes and errors.

#include <span>
#include <string_view>
#include <vector>

#include "weft/graph/tensor.h"

namespace weft {

// What apply_op() knows by a name: an op, or a function of several ops.
struct OpSignature {
  std::string_view name;
  std::span<const OpInput> inputs;
  bool variadic = false;  // the last input may repeat
  const AttrsType* attrs = nullptr;
};
// Sorted by name.
std::vector<OpSignature> op_signatures();

// Applies the op of this name (weft/ops/all_ops.h) or a function of several ops:
//   rms_norm x w {eps}            rms_norm, and mul by w
//   layer_norm x w bias? {eps}    layer_norm, mul by w, and add
//   split_heads x {n_heads}       reshape
//   merge_heads x                 reshape
// Attributes that are not given keep their defaults. Throws UnsupportedError for an unknown name
// ("no op 'rmsnorm'; nearest known: rms_norm"), and what Graph::add() and AttrsType::make throw.
Tensor apply_op(std::string_view name, std::span<const Tensor> inputs,
                std::span<const NamedAttr> attrs,
                SourceLine where = std::source_location::current());

}  // namespace weft
