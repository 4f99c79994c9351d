#pragma once
// Rows: a kernel for one instruction set. A kernel has rows for the sets that it is compiled for
// (cpu/kernel_list.h, made by CMake), best first; the first one whose features are there runs.
// Sets need not contain one another: what counts is the order of cmake/instruction_sets.cmake and
// whether all features that a set needs are there.

#include <array>

#include "cpu/isa.h"
#include "cpu/isa_table.h"
#include "cpu/kernel_list.h"

namespace weft::cpu {

template <class Fn>
struct KernelRow {
  const InstructionSet* isa = nullptr;
  Fn run{};
};

// One row for each tag, make.operator()<Tag>() being its function.
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
