#include "cpu/isa.h"

#include <algorithm>
#include <ranges>

#include <fmt/ranges.h>

#include "weft/base/error.h"

#include "cpu/isa_table.h"

namespace weft::cpu {

std::span<const InstructionSet> instruction_sets() {
  return kInstructionSets;
}

const InstructionSet& find_instruction_set(std::string_view name) {
  const auto sets = instruction_sets();
  const auto found = std::ranges::find(sets, name, &InstructionSet::name);
  if (found != sets.end()) return *found;
  const auto names = sets | std::views::transform(&InstructionSet::name);
  fail<ValueError>("unknown instruction set '{}' (known: {})", name, fmt::join(names, ", "));
}

const InstructionSet* best_instruction_set(FeatureSet has) {
  for (const InstructionSet& set : instruction_sets()) {
    if (has.contains(set.needs)) return &set;
  }
  return nullptr;
}

FeatureSet features_of(std::string_view name, FeatureSet machine) {
  const InstructionSet& set = find_instruction_set(name);
  if (!machine.contains(set.needs))
    fail<UnsupportedError>("this machine lacks {} ({})", name, set.description);
  return set.needs;
}

FeatureSet choose_features(const char* forced, FeatureSet machine) {
  if (!forced || !*forced) return machine;
  const auto reword = [](std::string_view message) {
    return fmt::format("WEFT_CPU_ISA: {}", message);
  };
  return reword_errors<ValueError, UnsupportedError>(reword,
                                                     [&] { return features_of(forced, machine); });
}

}  // namespace weft::cpu
