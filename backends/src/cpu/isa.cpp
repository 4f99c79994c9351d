#include "cpu/isa.h"

#include <algorithm>
#include <ranges>

#include <fmt/ranges.h>

#include "weft/base/error.h"

#include "cpu/isa_table.h"

namespace weft::cpu {

namespace {

std::string joined_names(std::span<const InstructionSet> sets) {
  return fmt::format("{}", fmt::join(sets | std::views::transform(&InstructionSet::name), ", "));
}

}  // namespace

std::span<const InstructionSet> instruction_sets() {
  return std::span(kInstructionSets).first(kBuiltSets);
}

std::span<const InstructionSet> instruction_sets_left_out() {
  return std::span(kInstructionSets).subspan(kBuiltSets);
}

const InstructionSet& find_instruction_set(std::string_view name) {
  const auto found = std::ranges::find(kInstructionSets, name, &InstructionSet::name);
  if (found != kInstructionSets.end()) return *found;
  fail<ValueError>("unknown instruction set '{}' (known: {})", name,
                   joined_names(instruction_sets()));
}

bool fuses_products(std::string_view name) {
  return name != "sse2" && std::ranges::count(kInstructionSets, name, &InstructionSet::name) > 0;
}

const InstructionSet* best_instruction_set(FeatureSet has) {
  for (const InstructionSet& set : instruction_sets()) {
    if (has.contains(set.needs)) return &set;
  }
  return nullptr;
}

FeatureSet features_of(std::string_view name, FeatureSet machine) {
  const InstructionSet& set = find_instruction_set(name);
  if (std::ranges::find(instruction_sets(), name, &InstructionSet::name) ==
      instruction_sets().end())
    fail<UnsupportedError>(
        "this program was built without kernels for {} ({}); it has those for {} (CMake option "
        "WEFT_ISAS)",
        name, set.description, joined_names(instruction_sets()));
  if (!machine.contains(set.needs))
    fail<UnsupportedError>("this machine lacks {} ({})", name, set.description);
  return set.needs;
}

FeatureSet choose_features(const char* forced, FeatureSet machine) {
  if (!forced || !*forced) {
    if (instruction_sets_left_out().empty()) return machine;
    // Only these have a row of every kernel.
    const InstructionSet* const best = best_instruction_set(machine);
    return best ? best->needs : FeatureSet();
  }
  const auto reword = [](std::string_view message) {
    return fmt::format("WEFT_CPU_ISA: {}", message);
  };
  return reword_errors<ValueError, UnsupportedError>(reword,
                                                     [&] { return features_of(forced, machine); });
}

}  // namespace weft::cpu
