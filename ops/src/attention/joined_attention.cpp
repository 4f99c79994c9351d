#include "weft/ops/attention/joined_attention.h"

#include <array>

#include "attention/attention_definition.h"

namespace weft {
namespace {

using namespace ops;
using namespace ops::definition;
using namespace joined_attention_inputs;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const auto& a = attrs.as<JoinedAttentionAttrs>();
  expect_finite("scale", a.scale);
  if (a.window < 1) fail<ValueError>("window must be at least 1, got {}", a.window);
  const TensorSpec first[] = {in[kQ],        in[kK],     in[kK],   in[kTable],
                              in[kTableRow], in[kFirst], in[kLast]};
  const TensorSpec out = infer_runs(first);
  const TensorSpec &k = in[kK], &k2 = in[kK2], &table2 = in[kTable2], &chosen = in[kChosen];
  const std::int64_t e = k.shape[3].bound;
  expect_form(k.shape[1] == Dim(1), "k", k, "[B, 1, {}, {}]", kCellsPerBlock, e);
  expect_dtype("k2", k2, k.dtype);
  expect_cache("k2", k2);
  const bool k2_fits = k2.shape[1] == Dim(1) && k2.shape[3] == Dim(e);
  expect_form(k2_fits, "k2", k2, "[B2, 1, {}, {}]", kCellsPerBlock, e);
  expect_dtype("table2", table2, i32);
  const bool is_table = table2.shape.n_dims() == 2 && table2.shape[0] == in[kTable].shape[0];
  expect_form(is_table, "table2", table2, "[{}, M2]", to_string(in[kTable].shape[0]));
  for (const auto& [name, i] : {std::pair{"first2", kFirst2}, {"last2", kLast2}}) {
    expect_dtype(name, in[i], i32);
    expect_shape(name, in[i], {out.shape[0]});
  }
  if (chosen.present()) {
    expect_dtype("chosen", chosen, i32);
    const bool fits =
        chosen.shape.n_dims() == 3 && chosen.shape[0] == out.shape[0] && chosen.shape[1] == Dim(1);
    expect_form(fits, "chosen", chosen, "[{}, 1, K]", to_string(out.shape[0]));
  }
  if (in[kSinks].present()) {
    expect_dtype("sinks", in[kSinks], f32);
    expect_shape("sinks", in[kSinks], {out.shape[1]});
  }
  return out;
}

// Both runs: positions of the second one follow those that the first table has.
class JoinedLookup {
 public:
  JoinedLookup(const Attrs& attrs, Views in)
      : views_{in[kQ], in[kK],  in[kK],  in[kTable],  in[kTableRow], in[kFirst],  in[kLast],
               in[kQ], in[kK2], in[kK2], in[kTable2], in[kTableRow], in[kFirst2], in[kLast2]},
        n_first_(in[kTable].dim(1) * kCellsPerBlock),
        first_({.a = {scale_of(attrs)}, .sinks = in[kSinks]}, Views(views_).first<7>()),
        second_({.a = {scale_of(attrs)}, .chosen = in[kChosen]}, Views(views_).last<7>()) {}
  JoinedLookup(const JoinedLookup&) = delete;
  JoinedLookup& operator=(const JoinedLookup&) = delete;

  const float* value(std::int64_t t, std::int64_t s, std::int64_t h) const {
    return s < n_first_ ? first_.value(t, s, h) : second_.value(t, s - n_first_, h);
  }
  DType values_dtype() const { return first_.values_dtype(); }
  bool gathers() const { return true; }
  Head weights(std::int64_t t, std::int64_t h) const {
    Head head = first_.scores(t, h);
    const Head more = second_.scores(t, h);
    for (const std::int64_t s : more.positions) head.positions.push_back(n_first_ + s);
    head.p.insert(head.p.end(), more.p.begin(), more.p.end());
    head.magnitude = std::max(head.magnitude, more.magnitude);
    first_.softmax(head, h);
    return head;
  }

 private:
  static float scale_of(const Attrs& attrs) { return attrs.as<JoinedAttentionAttrs>().scale; }

  const std::array<View, 14> views_;
  const std::int64_t n_first_;
  const Lookup first_, second_;
};

JoinedLookup look_up(const Attrs& attrs, Views in) {
  return {attrs, in};
}

// Assumes that every token attends to a whole window, and to the maximum number of cells of the
// second run.
Cost cost(const Attrs& attrs, Specs in, const TensorSpec& out, const Extents& extents) {
  const std::int64_t in_window = std::min<std::int64_t>(attrs.as<JoinedAttentionAttrs>().window,
                                                        in[kTable].shape[1].bound * kCellsPerBlock);
  const std::int64_t all = in[kTable2].shape[1].bound * kCellsPerBlock;
  const std::int64_t more = in[kChosen].present() ? std::min(in[kChosen].shape[2].bound, all) : all;
  return moves(in, out, extents, elems_at(out, extents) * (in_window + more) * 2);
}

constexpr OpInput kInputs[] = {{"q"},
                               {"k", Reach::all},
                               {"table", Reach::all},
                               {"table_row", Reach::all},
                               {"first", Reach::all},
                               {"last", Reach::all},
                               {"k2", Reach::all},
                               {"table2", Reach::all},
                               {"first2", Reach::all},
                               {"last2", Reach::all},
                               {"chosen", Reach::row, true},
                               {"sinks", Reach::all, true}};

}  // namespace

const OpDef kJoinedAttention{.name = "joined_attention",
                             .inputs = kInputs,
                             .attrs = &kAttrsType<JoinedAttentionAttrs>,
                             .infer = infer,
                             .reference = reference<look_up>,
                             .bound = bound<look_up>,
                             .cost = cost,
                             .col_granule = last_dimension,
                             .positions = Positions::differences};

Tensor joined_attention(Tensor q, const LatentRun& window, const LatentRun& more,
                        const JoinedAttentionAttrs& attrs, Tensor sinks, SourceLine where) {
  return add_node(kJoinedAttention,
                  {q, window.cells, window.runs.table, window.runs.table_row, window.runs.first,
                   window.runs.last, more.cells, more.runs.table, more.runs.first, more.runs.last,
                   more.chosen, sinks},
                  attrs, where);
}

}  // namespace weft
