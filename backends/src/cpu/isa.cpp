#include "cpu/isa.h"

#include <string>

#include "weft/base/error.h"

#include "cpu/isa_table.h"

namespace weft::cpu {

std::span<const InstructionSet> instruction_sets() {
  return kInstructionSets;
}

const InstructionSet& find_instruction_set(std::string_view name) {
  std::string known;
  for (const InstructionSet& set : instruction_sets()) {
    if (set.name == name) return set;
    known += (known.empty() ? "" : ", ") + std::string(set.name);
  }
  fail<ValueError>("WEFT_CPU_ISA: unknown instruction set '{}' (known: {})", name, known);
}

const InstructionSet* best_instruction_set(FeatureSet has) {
  const InstructionSet* best = nullptr;
  for (const InstructionSet& set : instruction_sets()) {
    if (has.contains(set.needs)) best = &set;
  }
  return best;
}

FeatureSet choose_features(const char* forced, FeatureSet machine) {
  if (!forced || !*forced) return machine;
  const InstructionSet& set = find_instruction_set(forced);
  if (!machine.contains(set.needs))
    fail<UnsupportedError>("WEFT_CPU_ISA: this machine lacks {} ({})", forced, set.description);
  return set.needs;
}

}  // namespace weft::cpu
