#pragma once
// The ops that the cpu backend can run: one entry per op, each in its own file in ops/, and the
// list of them.

#include <memory>
#include <optional>
#include <span>

#include "weft/backends/backend.h"

#include "cpu/kernel_rows.h"
#include "cpu/tuning.h"

namespace weft::cpu {

struct CpuOp {
  const OpDef* op;
  // The kernel for a node of this op on a machine with these features; nullopt if there is none for
  // its types or for the machine.
  std::optional<Kernel> (*find)(FeatureSet has, const Graph& graph, const Node& node);
  // Makes the object that its kernel expects as KernelArgs::prepared; null if it expects none.
  std::unique_ptr<PreparedKernel> (*prepare)(const Machine& machine, const Graph& graph,
                                             const Node& node) = nullptr;
};

std::span<const CpuOp* const> cpu_ops();

// "rms_norm avx2", which lives as long as the program.
std::string_view row_name(std::string_view what, const InstructionSet& isa);

// `kernel` with the function and the name of the first row that runs with these features, or
// nullopt.
std::optional<Kernel> with_row(std::string_view what, std::span<const KernelRow<KernelFn>> rows,
                               FeatureSet has, Kernel kernel);

// Float `c` of row `r`.
inline float* floats(const View& v, std::int64_t r, std::int64_t c) {
  return v.row<float>(r) + c;
}

}  // namespace weft::cpu
