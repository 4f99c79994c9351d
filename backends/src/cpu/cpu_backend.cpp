#include "cpu/cpu_backend.h"

#include <cstdlib>

#include "cpu/cpu_ops.h"
#include "cpu/passes/pack_weights.h"
#include "cpu/passes/quantize_activations.h"

namespace weft {
namespace cpu {

CpuBackend::CpuBackend(Isa isa)
    : isa_(isa), lowering_(kQuantizeActivations), resident_lowering_(pack_weights(isa)) {}

std::string CpuBackend::description() const {
  return "cpu, " + std::string(describe(isa_));
}

std::optional<Kernel> CpuBackend::find(const Graph& graph, const Node& node) const {
  for (const CpuOp* op : cpu_ops()) {
    if (op->op == node.op) return op->find(isa_, graph, node);
  }
  return std::nullopt;
}

}  // namespace cpu

const Backend& cpu_backend() {
  static const cpu::CpuBackend backend(cpu::choose_isa(std::getenv("WEFT_CPU_ISA")));
  return backend;
}

}  // namespace weft
