// What recurrent layers do with their states.
#include "weft/arch/memory.h"
#include "weft/ops/recurrent/causal_conv.h"
#include "weft/ops/recurrent/gated_linear_attention.h"
#include "weft/ops/recurrent/recurrence.h"
#include "weft/ops/recurrent/selective_scan.h"
#include "weft/ops/recurrent/token_shift.h"
#include "weft/ops/rows/keep_rows.h"

namespace weft::arch {

Tensor Recurrent::scan(Tensor a, Tensor x, SourceLine where) const {
  const Tensor y = recurrence(a, x, rows_.state, rows_.from, rows_.before, where);
  keep_rows(rows_.state, y, rows_.to, where);
  return y;
}

Tensor Recurrent::token_shift(Tensor x, SourceLine where) const {
  return weft::token_shift(x, rows_, where);
}

Tensor Recurrent::causal_conv(Tensor x, Tensor w, Tensor bias, SourceLine where) const {
  return weft::causal_conv(x, w, bias, rows_, where);
}

Tensor Recurrent::gated_linear_attention(Tensor q, Tensor k, Tensor v, Tensor decay, Tensor bonus,
                                         SourceLine where) const {
  return weft::gated_linear_attention(q, k, v, decay, bonus, rows_, where);
}

Tensor Recurrent::delta_rule(const DeltaRuleInputs& in, SourceLine where) const {
  return weft::delta_rule(in, rows_, where);
}

Tensor Recurrent::pool_tokens(Tensor x, Tensor scores, Tensor pos, const PoolTokensAttrs& attrs,
                              SourceLine where) const {
  return weft::pool_tokens(x, scores, pos, attrs, rows_, where);
}

Tensor Recurrent::selective_scan(Tensor x, Tensor dt, Tensor a, Tensor b, Tensor c,
                                 SourceLine where) const {
  return weft::selective_scan(x, dt, a, b, c, rows_, where);
}

}  // namespace weft::arch
