#pragma once
// The state space layer of Mamba. Every channel i of a sequence has a vector s [N], zero before the
// first token. Token t changes it and reads it:
//   s = exp(dt[t, i] * a[i, :]) * s + dt[t, i] * x[t, i] * b[t, :],   rounded to f32
//   y[t, i] = sum_n c[t, n] * s[n]
//
//   x, dt [T, I] f32     a [I, N] f32, not positive in real models     b, c [T, N] f32
//   state [R, I, N] f32, from, before, to [T] i32: state_rows.h
//   y [T, I] f32
//
// Source: Gu & Dao 2023, arXiv:2312.00752, section 3.2 (S6, with the zero-order hold for A and the
// Euler step for B).

#include <cstddef>
#include <source_location>

#include "weft/graph/tensor.h"
#include "weft/ops/recurrent/state_rows.h"

namespace weft {

// Indices of the inputs of kSelectiveScan.
namespace selective_scan_inputs {
enum Index : std::size_t { kX, kDt, kA, kB, kC, kState, kFrom, kBefore, kTo };
}  // namespace selective_scan_inputs

extern const OpDef kSelectiveScan;
Tensor selective_scan(Tensor x, Tensor dt, Tensor a, Tensor b, Tensor c, const StateRows& rows,
                      SourceLine where = std::source_location::current());

}  // namespace weft
