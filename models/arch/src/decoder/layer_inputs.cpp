#include "decoder/layer_inputs.h"

#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/views.h"

#include "decoder/root.h"

namespace weft::arch {

Tensor layer_inputs(const Weights& w, const Hparams& c, const Inputs& in, std::int64_t P,
                    Tensor h) {
  const std::int64_t width = c.L * P;
  const Tensor own = get_rows(w("per_layer_token_embd.weight", {c.V, width}), in.tokens);
  Tensor projected = linear(h, w("per_layer_model_proj.weight", {width, c.D}));
  projected = split_heads(scale(projected, 1 / root(c.D)), c.L);  // [T, L, P]
  projected = merge_heads(norm(w, "per_layer_proj_norm", c, projected));
  return scale(add(projected, scale(own, root(P))), 1 / root(2)).named("layer_inputs");
}

Tensor gated_layer_input(const Layer& l, Tensor x, Tensor inputs) {
  const std::int64_t P = inputs.shape()[1].bound / l.c.L;
  const Tensor gate = act::gelu(project(l.w, "inp_gate", P, l.c.D, x));  // [T, P]
  const Tensor own = slice(inputs, l.index * P, (l.index + 1) * P);
  return norm(l.w, "post_norm", l.c, project(l.w, "proj", l.c.D, P, mul(gate, own)));
}

}  // namespace weft::arch
