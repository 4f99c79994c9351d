#pragma once
// Linear attention with decay. Every head h of a sequence has a matrix S [N, P], zero before the
// first token. Token t changes it and reads it:
//   S = decay[t, h, :] * S + k[t, h, :] v[t, h, :]^T,   rounded to f32
//   y[t, h, :] = q[t, h, :]^T S
// With a bonus u, the token sees itself with this weight instead, and S without its decay:
//   y[t, h, :] = q[t, h, :]^T (S before the token + (u[h, :] * k[t, h, :]) v[t, h, :]^T)
//
//   q [T, G, N], k [T, G', N] f32: H is a multiple of G and of G', and H / G consecutive heads
//     share one
//   v [T, H, P] f32
//   decay [T, H] (one factor per head) or [T, H, N] f32: factors, not their logarithms
//   bonus [H, N] f32, optional
//   state [R, H, N, P] f32, from, before, to [T] i32: state_rows.h
//   y [T, H, P] f32
//
// The core of Mamba 2 (k = B, q = C, v = dt * x, decay = exp(dt * A); Dao & Gu 2024,
// arXiv:2405.21060), of lightning attention (arXiv:2401.04658), of gated linear attention (Yang et
// al. 2023, arXiv:2312.06635) and of RWKV 6 (bonus; Peng et al. 2024, arXiv:2404.05892).

#include <cstddef>
#include <source_location>

#include "weft/graph/tensor.h"
#include "weft/ops/recurrent/state_rows.h"

namespace weft {

// Indices of the inputs of kGatedLinearAttention.
namespace gated_linear_attention_inputs {
enum Index : std::size_t { kQ, kK, kV, kDecay, kBonus, kState, kFrom, kBefore, kTo };
}  // namespace gated_linear_attention_inputs

extern const OpDef kGatedLinearAttention;
Tensor gated_linear_attention(Tensor q, Tensor k, Tensor v, Tensor decay, Tensor bonus,
                              const StateRows& rows,
                              SourceLine where = std::source_location::current());

}  // namespace weft
