// Arctic: a dense ffn in every layer, and beside it experts that take what the whole layer took.
// Source: Snowflake 2024, https://www.snowflake.com/blog/arctic-open-efficient-foundation-models.

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"

namespace weft::arch {
namespace {

Tensor layer(const Layer& l, Tensor x) {
  const Tensor a = Attention{{rope_adjacent}}(l, norm(l.w, "attn_norm", l.c, x));
  const Tensor dense = swiglu(l, norm(l.w, "ffn_norm", l.c, add(x, a)));
  const Tensor sparse = Moe{}(l, norm(l.w, "ffn_norm_exps", l.c, x));
  return add(add(a, dense), sparse);
}

Decoder arctic(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = {{.name = "layer", .block = layer}}};
}

}  // namespace

extern const Architecture kArctic;
constinit const Architecture kArctic =
    decoder<arctic, read_with_experts<ExpertRules{.width = ExpertWidth::ffn, .required = true}>>(
        "arctic");

}  // namespace weft::arch
