#pragma once
// Rows: a kernel for one instruction set. A kernel has rows for the sets that it is compiled for
// (cpu/kernel_list.h, made by CMake), best first. The first one whose features the machine has is
// used. Sets need not contain one another: only the order in cmake/instruction_sets.cmake and the
// features that each set needs matter.

#include <array>

#include "cpu/isa.h"
#include "cpu/isa_table.h"
#include "cpu/kernel_list.h"

namespace weft::cpu {

template <class Fn>
struct KernelRow {
  const InstructionSet* isa = nullptr;  // in kInstructionSets
  Fn run{};
};

// One row for each tag; its function is make.operator()<Tag>().
template <class... Arch, class Make>
constexpr auto rows_for(Tags<Arch...>, Make make) {
  using Row = KernelRow<decltype(make.template operator()<void>())>;
  return std::array<Row, sizeof...(Arch)>{
      Row{&kInstructionSets[kIndexOf<Arch>], make.template operator()<Arch>()}...};
}

// The rows of `Kernel`: rows_of<Rope>([]<class Arch>() -> KernelFn { return run<Arch>; }).
template <template <class> class Kernel, class Make>
constexpr auto rows_of(Make make) {
  return rows_for(typename CompiledFor<Kernel>::Sets(), make);
}

// The first row that runs with these features; null if there is none.
template <class Rows>
constexpr auto first_fit(const Rows& rows, FeatureSet has) -> decltype(rows.data()) {
  for (const auto& row : rows) {
    if (has.contains(row.isa->needs)) return &row;
  }
  return nullptr;
}

}  // namespace weft::cpu
