#pragma once
// Shared by linear, linear_concat, gated_linear, expert_linear and head_linear: finding and calling
// the kernel for given types of activations and weights.

#include <optional>
#include <string>
#include <vector>

#include "cpu/cpu_ops.h"
#include "cpu/weight_formats.h"

namespace weft::cpu {

inline constexpr std::int64_t kProjectionGranule = 16;

// The prepared kernels of a projection: the rows for its weights, in their order.
struct ProjectionRows : PreparedKernel {
  std::vector<WeightRow> weights;

  static const std::vector<WeightRow>& of(const KernelArgs& args) {
    return static_cast<const ProjectionRows*>(args.prepared)->weights;
  }
};
std::unique_ptr<PreparedKernel> prepare_projection(const Machine& machine, const Graph& graph,
                                                   const Node& node);

// The row for these activations and weights; empty if there is none.
WeightRow projection_row(const TensorSpec& x, const TensorSpec& w, FeatureSet has);
// The same with the values of the tunables for it.
WeightRow projection_row(const TensorSpec& x, const TensorSpec& w, const Machine& machine);

// The name, scratch and tiles of a kernel that multiplies x by these weights; nullopt if there is
// no row for one of them. The name is "linear q8a x q4_k avx512vnni". Several weight types are
// joined by "+", equal ones are listed once, and of several instruction sets the least preferred
// one is named (the last one in kInstructionSets). The tiles are those of all rows that a call may
// use. The caller sets `run`.
std::optional<Kernel> projection_kernel(std::string_view op, const TensorSpec& x,
                                        std::span<const TensorSpec> weights, FeatureSet has);

// Sets x and w; the caller sets y, region, bias and residual.
LinearArgs projection_args(const View& x, const View& w, std::span<std::byte> scratch);
void project(const WeightRow& row, const View& x, const View& w, const LinearArgs& args) noexcept;

}  // namespace weft::cpu
