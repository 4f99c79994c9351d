#pragma once
// Linear attention that can also remove stored values. Every head h of a sequence has a matrix
// S [N, P], zero before the first token. Token t multiplies it by a diagonal matrix plus a matrix
// of rank one, adds a product, and reads it (all vectors are those of token t and head h):
//   S = diag(decay) S + write (remove^T S) + k v^T,   rounded to f32
//   y[t, h, :] = q^T S
//
//   q, k, remove, write [T, H, N] f32     v [T, H, P] f32
//   decay [T, H] (one factor per head) or [T, H, N] f32: factors, not their logarithms
//   state [R, H, N, P] f32, from, before, to [T] i32: state_rows.h
//   y [T, H, P] f32
//
// The core of the gated delta rule (remove = decay * k, write = -beta * k, and beta * k instead of
// k; Yang et al. 2024, arXiv:2412.06464), of Kimi's delta attention (the same with a decay per
// channel, arXiv:2510.26692) and of RWKV 7 (remove = a, write = b; Peng et al. 2025,
// arXiv:2503.14456).

#include <cstddef>
#include <source_location>

#include "weft/graph/tensor.h"
#include "weft/ops/recurrent/state_rows.h"

namespace weft {

struct DeltaRuleInputs {
  Tensor q, k, v, decay, remove, write;
};

// Indices of the inputs of kDeltaRule.
namespace delta_rule_inputs {
enum Index : std::size_t { kQ, kK, kV, kDecay, kRemove, kWrite, kState, kFrom, kBefore, kTo };
}  // namespace delta_rule_inputs

extern const OpDef kDeltaRule;
Tensor delta_rule(const DeltaRuleInputs& in, const StateRows& rows,
                  SourceLine where = std::source_location::current());

}  // namespace weft
