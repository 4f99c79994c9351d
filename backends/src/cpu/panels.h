#pragma once
// Panels: weights [N, K] whose rows lie interleaved by 16, so that one vector load brings the same
// elements of 16 rows. In memory only; a tensor holds the bits of its plain form in another order,
// so it takes as many bytes. Q4_K in panels is called Q4_K_R16.
//
//   tensor   panel 0 (rows 0-15), panel 1, ..., then the N mod 16 rows that fill no panel, in plain
//            form
//   panel    16 rows: their blocks in the order of K
//   block    of the plain form: units of `unit` bytes, and in formats of 4k + 2 bytes a half of 2
//            bytes (the scale) that is left out when units are counted; in MXFP4, of 4k + 1, it has
//            1. In a panel: for each unit in turn, that unit of rows 0, 1, ... 15. Units stand in
//            the order of the plain form, in Q2_K, Q3_K, Q5_K, Q6_K and TQ1_0 in the order in which
//            they are used (panels.cpp). In a unit, bytes stand as in the plain form; where four
//            neighbours share a byte, their bits change places, so that each has a byte: in Q1_0,
//            Q2_0 and the fifth bits of Q5_0 and Q5_1
//   halves   of rows 0, 1, ... 15 of one block, then of the next: in front of every second block,
//            for it and its successor, if it has one; those of 1 byte in front of every fourth
//
// Sixteen units of 4 bytes, or halves of two (four) blocks, are one vector of 64 bytes. They start
// at multiples of 64 bytes of the panel, but for last blocks that have their halves for themselves.
// Kernels read a panel once, from its first byte to its last.

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/graph/row_layout.h"

namespace weft::cpu {

inline constexpr std::int64_t kPanelRows = 16;

// The type whose tensors are those of `plain` in panels; invalid where `plain` has none.
DType panels_of(DType plain);

// All of them.
std::span<const DType> panel_types();

extern const RowLayout kPanels;
inline bool in_panels(DType type) {
  return type.layout() == &kPanels;
}

// Whether row `r` of `n_rows` lies in a panel, or behind them in plain form.
inline bool in_panel(std::int64_t r, std::int64_t n_rows) {
  return r < n_rows / kPanelRows * kPanelRows;
}

}  // namespace weft::cpu
