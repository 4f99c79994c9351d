#pragma once
// Rows: one kernel per instruction set, best first, last row runs everywhere. A row whose object is
// missing does not link; a row that is missing here does not compile, because the counts come from
// the build's own table (cmake/isa.cmake).

#include <array>
#include <cstddef>

#include "cpu/isa.h"

namespace weft::cpu {

template <class Fn>
struct KernelRow {
  Isa isa;
  Fn run;
};

// Of a kernel that uses VNNI.
template <template <class> class K>
constexpr auto integer_rows() {
  using Row = KernelRow<decltype(&K<Sse2>::run)>;
  constexpr std::array rows{Row{Isa::avx512vnni, &K<Avx512Vnni>::run},
                            Row{Isa::avx512, &K<Avx512>::run}, Row{Isa::avx2, &K<Avx2>::run},
                            Row{Isa::sse2, &K<Sse2>::run}};
  static_assert(rows.size() == WEFT_ISA_COUNT);
  return rows;
}

// Of a kernel that works on floats alone.
template <template <class> class K>
constexpr auto float_rows() {
  using Row = KernelRow<decltype(&K<Sse2>::run)>;
  constexpr std::array rows{Row{Isa::avx512, &K<Avx512>::run}, Row{Isa::avx2, &K<Avx2>::run},
                            Row{Isa::sse2, &K<Sse2>::run}};
  static_assert(rows.size() == WEFT_ISA_FLOAT_COUNT);
  return rows;
}

// The best row that `isa` runs.
template <class Rows>
constexpr const auto& best_row(const Rows& rows, Isa isa) {
  for (const auto& row : rows) {
    if (row.isa <= isa) return row;
  }
  return rows.back();
}

}  // namespace weft::cpu
