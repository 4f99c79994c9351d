#include "weft/ops/attention/chosen_attention.h"

#include "attention/attention_definition.h"

namespace weft {
namespace {

using namespace ops;
using namespace ops::definition;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const auto& a = attrs.as<ChosenAttentionAttrs>();
  expect_finite("scale", a.scale);
  if (a.span < 1) fail<ValueError>("span must be at least 1, got {}", a.span);
  const TensorSpec out = infer_runs(in);
  const TensorSpec &chosen = in[7], &sinks = in[8];
  const std::int64_t heads = out.shape[1].bound;
  expect_dtype("chosen", chosen, i32);
  const bool fits = chosen.shape.n_dims() == 3 && chosen.shape[0] == out.shape[0] &&
                    chosen.shape[1].bound > 0 && heads % chosen.shape[1].bound == 0;
  expect_form(fits, "chosen", chosen, "[{}, C, K] with C a divisor of {}", to_string(out.shape[0]),
              heads);
  if (sinks.present()) {
    expect_dtype("sinks", sinks, f32);
    expect_shape("sinks", sinks, {heads});
  }
  return out;
}

Lookup look_up(const Attrs& attrs, Views in) {
  const auto& a = attrs.as<ChosenAttentionAttrs>();
  return {{.a = {a.scale}, .sinks = in[8], .chosen = in[7], .span = a.span}, in};
}

// Assumes that every token attends to the maximum number of chosen positions.
Cost cost(const Attrs& attrs, Specs in, const TensorSpec& out, const Extents& extents) {
  const std::int64_t n_chosen =
      std::min(in[7].shape[2].bound * attrs.as<ChosenAttentionAttrs>().span,
               in[3].shape[1].bound * kCellsPerBlock);
  const std::int64_t n_scores = elems_at(in[4], extents) * in[0].shape[1].bound * n_chosen;
  return moves(in, out, extents, n_scores * (in[0].shape[2].bound + in[2].shape[3].bound));
}

Cuts cut_heads(const Attrs&, Specs in, const TensorSpec& out, const Cut& cut) {
  if (in[7].shape[1].bound != 1) return std::nullopt;  // chosen by head
  Cuts cuts = cut_attention(in, out, cut);
  if (cuts && in[8].present()) (*cuts)[8] = cut.moved(0);
  return cuts;
}

constexpr OpInput kInputs[] = {{"q"},
                               {"k", Reach::col},
                               {"v", Reach::col},
                               {"table", Reach::all},
                               {"table_row", Reach::all},
                               {"first", Reach::all},
                               {"last", Reach::all},
                               {"chosen", Reach::row},
                               {"sinks", Reach::all, true}};

}  // namespace

const OpDef kChosenAttention{.name = "chosen_attention",
                             .inputs = kInputs,
                             .attrs = &kAttrsType<ChosenAttentionAttrs>,
                             .infer = infer,
                             .reference = reference<look_up>,
                             .bound = bound<look_up>,
                             .cost = cost,
                             .col_granule = last_dimension,
                             .map_cols = map_cols,
                             .cuts = {.inputs = cut_heads, .by_heads = true},
                             .positions = Positions::differences};

Tensor chosen_attention(Tensor q, Tensor k, Tensor v, const AttentionRuns& runs, Tensor chosen,
                        const ChosenAttentionAttrs& attrs, Tensor sinks, SourceLine where) {
  return add_node(kChosenAttention,
                  {q, k, v, runs.table, runs.table_row, runs.first, runs.last, chosen, sinks},
                  attrs, where);
}

}  // namespace weft
