// Checks that the instruction set "avxgfni" is known, has rows, and runs if the machine has it.

#include <cstdio>
#include <string>

#include "cpu/kernel_rows.h"
#include "cpu/kernels/rows/elementwise.h"

namespace {

using namespace weft::cpu;

constexpr auto kRows = rows_of<Elementwise>([]<class Arch>() { return &Elementwise<Arch>::run; });

std::string row_for(FeatureSet has) {
  const auto* row = first_fit(kRows, has);
  return row ? std::string(row->isa->name) : "none";
}

bool holds(bool condition, const char* what) {
  if (!condition) std::printf("wrong: %s\n", what);
  return condition;
}

// Doubles a float by the row that this machine has.
float doubled(float x) {
  const auto* row = first_fit(kRows, machine_features());
  float y = 0;
  row->run().scale(&x, 2, &y, 1);
  return y;
}

}  // namespace

int main() {
  const FeatureSet added = find_instruction_set("avxgfni").needs;
  const FeatureSet avx2 = find_instruction_set("avx2").needs;
  const FeatureSet avx512 = find_instruction_set("avx512").needs;
  bool right = holds(added.contains(avx2), "it has the features of the set that it extends");
  right &= holds(!avx512.contains(added), "AVX-512 does not contain it");
  right &= holds(row_for(added) == "avxgfni", "its row is chosen where its features are");
  right &= holds(row_for(avx2) == "avx2", "its row is not chosen without them");
  right &= holds(row_for(avx512) == "avx512", "nor on a machine with AVX-512 alone");
  right &= holds(choose_features("avxgfni", added) == added, "WEFT_CPU_ISA takes its name");
  right &= holds(doubled(3) == 6, "the row of this machine computes");
  return right ? 0 : 1;
}
