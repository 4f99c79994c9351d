#include "weft/ops/attention/attention.h"

#include <bit>

#include "weft/ops/attention/alibi.h"

#include "attention/attention_definition.h"

namespace weft {

double alibi_slope(double alibi, std::int64_t h, std::int64_t n_heads) {
  const auto n = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n_heads)));
  const auto of = [&](std::int64_t step, std::int64_t steps) {
    return std::exp2(-alibi * static_cast<double>(step) / static_cast<double>(steps));
  };
  return h < n ? of(h + 1, n) : of(2 * (h - n) + 1, 2 * n);
}

namespace {

using namespace ops;
using namespace ops::definition;

TensorSpec infer(const Attrs& attrs, Specs in) {
  expect_finite("scale", attrs.as<AttentionAttrs>().scale);
  return infer_runs(in);
}

TensorSpec infer_biased(const Attrs& attrs, Specs in) {
  const auto& a = attrs.as<BiasedAttentionAttrs>();
  for (const auto& [name, value] :
       {std::pair{"scale", a.scale}, {"softcap", a.softcap}, {"alibi", a.alibi}})
    expect_finite(name, value);
  const TensorSpec out = infer_runs(in);
  const TensorSpec &pos = in[7], &sinks = in[8], &distances = in[9];
  const std::int64_t heads = out.shape[1].bound;
  if (pos.present()) {
    expect_dtype("pos", pos, i32);
    expect_shape("pos", pos, {out.shape[0]});
  }
  if (sinks.present()) {
    expect_dtype("sinks", sinks, f32);
    expect_shape("sinks", sinks, {heads});
  }
  if (distances.present()) {
    expect_dtype("distances", distances, f32);
    const bool fits = distances.shape.n_dims() == 2 && distances.shape[0].bound % 2 == 1 &&
                      distances.shape[1].bound == heads;
    expect_form(fits, "distances", distances, "[2 r + 1, {}]", heads);
  }
  return out;
}

// Assumes that every token attends to all cells that a sequence may have.
Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  const std::int64_t n_cells = in[3].shape[1].bound * kCellsPerBlock;
  const std::int64_t n_scores = elems_at(in[4], extents) * in[0].shape[1].bound * n_cells;
  return moves(in, out, extents, n_scores * (in[0].shape[2].bound + in[2].shape[3].bound));
}

Lookup plain(const Attrs& attrs, Views in) {
  return {{.a = {attrs.as<AttentionAttrs>().scale}}, in};
}
Lookup biased(const Attrs& attrs, Views in) {
  return {{.a = attrs.as<BiasedAttentionAttrs>(), .pos = in[7], .sinks = in[8], .distances = in[9]},
          in};
}
Cuts cut_heads(const Attrs&, Specs in, const TensorSpec& out, const Cut& cut) {
  return cut_attention(in, out, cut);
}

// A slope belongs to the number of its head among all.
Cuts cut_biased_heads(const Attrs& attrs, Specs in, const TensorSpec& out, const Cut& cut) {
  if (attrs.as<BiasedAttentionAttrs>().alibi != 0) return std::nullopt;
  Cuts cuts = cut_attention(in, out, cut);
  if (!cuts) return cuts;
  if (in[8].present()) (*cuts)[8] = cut.moved(0);
  if (in[9].present()) (*cuts)[9] = cut;
  return cuts;
}

constexpr OpInput kInputs[] = {{"q"},
                               {"k", Reach::col},
                               {"v", Reach::col},
                               {"table", Reach::all},
                               {"table_row", Reach::all},
                               {"first", Reach::all},
                               {"last", Reach::all},
                               {"pos", Reach::all, true},
                               {"sinks", Reach::all, true},
                               {"distances", Reach::all, true}};
}  // namespace

const OpDef kAttention{.name = "attention",
                       .inputs = std::span(kInputs).first<7>(),
                       .attrs = &kAttrsType<AttentionAttrs>,
                       .infer = infer,
                       .reference = reference<plain>,
                       .bound = bound<plain>,
                       .cost = cost,
                       .col_granule = last_dimension,
                       .map_cols = map_cols,
                       .cuts = {.inputs = cut_heads, .by_heads = true},
                       .positions = Positions::differences};

const OpDef kBiasedAttention{.name = "biased_attention",
                             .inputs = kInputs,
                             .attrs = &kAttrsType<BiasedAttentionAttrs>,
                             .infer = infer_biased,
                             .reference = reference<biased>,
                             .bound = bound<biased>,
                             .cost = cost,
                             .col_granule = last_dimension,
                             .map_cols = map_cols,
                             .cuts = {.inputs = cut_biased_heads, .by_heads = true},
                             .positions = Positions::differences};

Tensor attention(Tensor q, Tensor k, Tensor v, const AttentionRuns& runs,
                 const AttentionAttrs& attrs, const AttentionBias& bias, SourceLine where) {
  std::vector<Tensor> in{q, k, v, runs.table, runs.table_row, runs.first, runs.last};
  if (bias.softcap == 0 && bias.alibi == 0 && !bias.sinks && !bias.distances)
    return add_node(kAttention, in, attrs, where);
  in.insert(in.end(), {bias.pos, bias.sinks, bias.distances});
  const BiasedAttentionAttrs all{attrs.scale, bias.softcap, bias.alibi};
  return add_node(kBiasedAttention, in, all, where);
}

}  // namespace weft
