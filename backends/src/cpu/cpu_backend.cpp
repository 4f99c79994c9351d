#include "cpu/cpu_backend.h"

#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "weft/backends/tunables.h"
#include "weft/base/error.h"
#include "weft/base/no_destructor.h"

#include "cpu/cpu_ops.h"
#include "cpu/panels.h"
#include "cpu/passes/pack_weights.h"
#include "cpu/passes/quantize_activations.h"

namespace weft {
namespace cpu {
namespace {

const CpuOp* find_cpu_op(const Node& node) {
  for (const CpuOp* op : cpu_ops()) {
    if (op->op == node.op) return op;
  }
  return nullptr;
}

}  // namespace

CpuBackend::CpuBackend(FeatureSet features, TunedValues values)
    : values_(std::move(values)),
      machine_{.features = features, .tuning = Tuning(values_)},
      lowering_(kQuantizeActivations),
      resident_lowering_(pack_weights(best_instruction_set(features))) {}

std::string CpuBackend::description() const {
  const InstructionSet* best = best_instruction_set(machine_.features);
  std::string text =
      "cpu, " + std::string(best ? best->description : "no instruction set it knows");
  std::string_view separator = "; built without ";
  for (const InstructionSet& set : instruction_sets_left_out()) {
    text.append(separator).append(set.name);
    separator = ", ";
  }
  return text;
}

std::optional<Kernel> CpuBackend::find(const Graph& graph, const Node& node) const {
  const CpuOp* op = find_cpu_op(node);
  auto kernel = op ? op->find(machine_.features, graph, node) : std::nullopt;
  if (kernel) kernel->backend = this;  // prepare() needs it
  return kernel;
}

// A row ends with its instruction set. All layouts of weights give the same bits.
std::string_view CpuBackend::bits_of(std::string_view row) const {
  return fuses_products(row.substr(row.rfind(' ') + 1)) ? "fused products" : row;
}

std::unique_ptr<PreparedKernel> CpuBackend::prepare(const Graph& graph, const Node& node,
                                                    const KernelArgs&, KernelFailure&) const {
  const CpuOp* op = find_cpu_op(node);
  return op && op->prepare ? op->prepare(machine_, graph, node) : nullptr;
}

std::span<const DType> CpuBackend::layouts() const {
  return panel_types();
}

}  // namespace cpu

namespace {

cpu::FeatureSet chosen_features() {
  return cpu::choose_features(std::getenv("WEFT_CPU_ISA"), cpu::machine_features());
}

const cpu::CpuBackend& default_backend() {
  static const NoDestructor<cpu::CpuBackend> backend(chosen_features(),
                                                     stored_values(cpu_backend_isa()));
  return *backend;
}

}  // namespace

const Backend& cpu_backend() {
  return default_backend();
}

std::string_view cpu_backend_isa() {
  const cpu::InstructionSet* const best = cpu::best_instruction_set(chosen_features());
  return best ? best->name : "";
}

const TunedValues& cpu_backend_values() {
  return default_backend().values();
}

std::unique_ptr<const Backend> make_cpu_backend(std::string_view isa, const TunedValues& values) {
  return std::make_unique<cpu::CpuBackend>(cpu::features_of(isa, cpu::machine_features()), values);
}

const Backend& cpu_backend(std::string_view isa) {
  cpu::features_of(
      isa, cpu::machine_features());  // throws for an unknown set, or one that is missing here
  static const NoDestructor backends([] {
    std::map<std::string_view, cpu::CpuBackend> all;
    for (const std::string_view name : cpu_isas())
      all.emplace(name, cpu::find_instruction_set(name).needs);
    return all;
  }());
  return backends->at(isa);
}

std::span<const std::string_view> cpu_isas() {
  static const NoDestructor names([] {
    std::vector<std::string_view> list;
    for (const cpu::InstructionSet& set : cpu::instruction_sets()) {
      if (cpu::machine_features().contains(set.needs)) list.push_back(set.name);
    }
    return list;
  }());
  return *names;
}

}  // namespace weft
