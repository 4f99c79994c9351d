#include "cpu/cpu_backend.h"

#include <array>
#include <cstdlib>
#include <vector>

#include "weft/base/error.h"

#include "cpu/cpu_ops.h"
#include "cpu/passes/pack_weights.h"
#include "cpu/passes/quantize_activations.h"
#include "cpu/vbmi.h"

namespace weft {
namespace cpu {

CpuBackend::CpuBackend(Isa isa)
    : isa_(isa), lowering_(kQuantizeActivations), resident_lowering_(pack_weights(isa)) {
  has_vbmi();  // WEFT_CPU_ISA is read now, and not from a worker
}

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

const Backend& cpu_backend(std::string_view isa) {
  static const auto backends = [] {
    std::array<cpu::CpuBackend, std::size(cpu::kAllIsas)> all = {
        cpu::CpuBackend(cpu::kAllIsas[0]), cpu::CpuBackend(cpu::kAllIsas[1]),
        cpu::CpuBackend(cpu::kAllIsas[2]), cpu::CpuBackend(cpu::kAllIsas[3])};
    return all;
  }();
  std::string known;
  for (const std::string_view name : cpu_isas()) {
    if (name == isa) return backends[static_cast<std::size_t>(cpu::parse_isa(name))];
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  fail<ValueError>("'{}' is no instruction set of this machine; it has {}", isa, known);
}

std::span<const std::string_view> cpu_isas() {
  static const auto names = [] {
    std::vector<std::string_view> list;
    for (const cpu::Isa isa : cpu::kAllIsas) {
      if (cpu::machine_has(isa)) list.push_back(cpu::to_string(isa));
    }
    return list;
  }();
  return names;
}

}  // namespace weft
