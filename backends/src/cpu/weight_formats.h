#pragma once
// The kernels of weight formats. A format without its own kernels uses those that decode it with
// its codec. Types here are plain types, not those of panels.

#include "weft/graph/dtype.h"
#include "weft/ops/formats/format.h"

#include "cpu/isa.h"
#include "cpu/kernels/weights/weights.h"
#include "cpu/tuning.h"

namespace weft::cpu {

// The kernels for weights of one type.
struct WeightRow {
  const InstructionSet* isa = nullptr;  // in kInstructionSets
  WeightKernels kernels;
  // For types without their own kernels: decodes them, as kernels.from_f32 requires it;
  // kernels.decode is null.
  const Format* decoder = nullptr;
  PanelPrefetch prefetch;

  // Elements [begin, end) of a row, whole blocks.
  void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
              float* out) const noexcept;

  explicit operator bool() const { return isa != nullptr; }
};

// The best row that runs with these features; empty if there is none.
WeightRow find_weight_row(DType weights, FeatureSet has);
// Whether Q8A activations can be multiplied by such weights.
bool has_integer_row(DType weights);
// Whether such activations can be multiplied by the panels of such weights.
bool has_panel_row(DType activations, DType weights, FeatureSet has);

}  // namespace weft::cpu
