#pragma once
// Panels: weights [N, K] whose rows are interleaved by 16, so that one vector load reads the same
// elements of 16 rows. In memory only. A tensor holds the bits of its plain form in another order,
// so its size is the same. Q4_K in panels is called Q4_K_R16.
//
//   tensor   panel 0 (rows 0-15), panel 1, ..., then the N mod 16 rows that fill no panel, in plain
//            form. A tensor [X, N, K] is stored as [X * N, K]; N is a multiple of 16
//   panel    16 rows: their blocks in the order of K
//   block    a block of the plain form is divided into units of `unit` bytes. In formats of 4k + 2
//            bytes there is also a half of 2 bytes (the scale), which is not part of the units; in
//            MXFP4, of 4k + 1 bytes, it has 1 byte. A panel stores unit by unit: the first unit of
//            rows 0, 1, ... 15, then the second, and so on. Units are in the order of the plain
//            form, except in Q2_K, Q3_K, Q5_K, Q6_K and TQ1_0, which have them in the order of use
//            (panel_layouts.h). Bytes of a unit are those of the plain form, except if four
//            neighbours share a byte: their bits are exchanged so that each has its own byte (in
//            Q1_0, Q2_0 and the fifth bits of Q5_0 and Q5_1)
//   halves   those of rows 0, 1, ... 15 of one block, then of the next. They precede every second
//            block, for it and its successor, if it has one; halves of 1 byte every fourth block
//
// Sixteen units of 4 bytes, or the halves of two (four) blocks, are one vector of 64 bytes. They
// start at multiples of 64 bytes of the panel, except in last blocks that do not share their
// halves. Kernels read a panel once, from its first byte to its last.

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/graph/row_layout.h"

namespace weft::cpu {

inline constexpr std::int64_t kPanelRows = 16;

// The type for tensors of type `plain` in panels; invalid if there is none.
DType panels_of(DType plain);

// All of them.
std::span<const DType> panel_types();

extern const RowLayout kPanels;
inline bool in_panels(DType type) {
  return type.layout() == &kPanels;
}

// Whether row `r` of `n_rows` is in a panel, or after the panels in plain form.
inline bool in_panel(std::int64_t r, std::int64_t n_rows) {
  return r < n_rows / kPanelRows * kPanelRows;
}

}  // namespace weft::cpu
