#pragma once
// Features of processors, and the instruction sets that kernels are compiled for: named sets of
// features. cmake/instruction_sets.cmake lists both.

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "cpu/feature_list.h"

namespace weft::cpu {

class FeatureSet {
 public:
  constexpr FeatureSet() = default;
  constexpr FeatureSet(std::initializer_list<Feature> features) {
    for (const Feature f : features) add(f);
  }
  constexpr void add(Feature f) { bits_ |= std::uint64_t{1} << static_cast<unsigned>(f); }
  constexpr bool contains(FeatureSet other) const { return (other.bits_ & ~bits_) == 0; }
  friend constexpr bool operator==(FeatureSet, FeatureSet) = default;

 private:
  std::uint64_t bits_ = 0;
};

struct InstructionSet {
  std::string_view name;         // "avx512vnni"
  std::string_view description;  // "AVX-512 with VNNI"
  FeatureSet needs;
};

// Those that this program has all kernels for, best first. They live as long as the program.
std::span<const InstructionSet> instruction_sets();
// The others: some kernels may have rows for them (the CMake option WEFT_ISAS).
std::span<const InstructionSet> instruction_sets_left_out();
// Searches both. Throws ValueError listing instruction_sets() if the name is unknown.
const InstructionSet& find_instruction_set(std::string_view name);
// Whether this is the name of a set whose kernels add products without rounding them before. All
// such sets give the same bits (tests/system/same_bits_test.py).
bool fuses_products(std::string_view name);
// The first one whose features `has` contains; null if there is none.
const InstructionSet* best_instruction_set(FeatureSet has);

// The features that the processor has and the operating system supports.
FeatureSet machine_features();

// The features that a set needs. Throws ValueError if the name is unknown, UnsupportedError if the
// machine lacks the set or the program has no kernels for it.
FeatureSet features_of(std::string_view name, FeatureSet machine);
// The features that kernels may use: those of the set named by `forced`, or, if that is null or
// empty, all of `machine`. In a program that lacks sets, only those of the best of its sets. Throws
// as features_of(), with WEFT_CPU_ISA before the message.
FeatureSet choose_features(const char* forced, FeatureSet machine);

}  // namespace weft::cpu
