#pragma once
// The kernels of weight formats. A format without its own has those that decode it with its codec.
// Types are plain ones here, not those of panels.

#include "weft/graph/dtype.h"
#include "weft/ops/formats/format.h"

#include "cpu/isa.h"
#include "cpu/kernels/weights.h"

namespace weft::cpu {

// What runs for weights of one type.
struct WeightRow {
  const InstructionSet* isa = nullptr;
  WeightKernels kernels;
  // Of types without kernels of their own: what makes floats of them, since kernels.from_f32 wants
  // it and kernels.decode is null.
  const Format* decoder = nullptr;

  // Elements [begin, end) of a row, whole blocks.
  void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
              float* out) const noexcept;

  explicit operator bool() const { return isa != nullptr; }
};

// The best row that runs with these features; empty if there is none.
WeightRow find_weight_row(DType weights, FeatureSet has);
// Q8A activations can be multiplied by such weights.
bool has_integer_row(DType weights);
// Such activations can be multiplied by the panels of such weights.
bool has_panel_row(DType activations, DType weights, FeatureSet has);

}  // namespace weft::cpu
