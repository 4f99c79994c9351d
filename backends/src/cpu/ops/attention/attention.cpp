#include "weft/ops/attention/attention.h"

#include <algorithm>
#include <vector>

#include "weft/backends/memory.h"
#include "weft/ops/attention/alibi.h"
#include "weft/ops/attention/cache_cells.h"

#include "cpu/ops/attention/attention_runs.h"

namespace weft::cpu {
namespace {

static_assert(AttentionKernels::kCells == kCellsPerBlock);

// Tokens per tile: enough for kTileRows rows, at least one.
std::int64_t tile_tokens(std::int64_t n_heads) {
  return std::max<std::int64_t>(1, AttentionKernels::kTileRows / n_heads);
}

// The slopes of the heads of a node.
struct Slopes : PreparedKernel {
  std::vector<float> of_heads;
};

// The bias of scores, for tokens from t on and heads from h on.
ScoreBias bias_at(const KernelArgs& args, std::int64_t t, std::int64_t h) {
  const auto& attrs = args.attrs->as<BiasedAttentionAttrs>();
  const View &last = args.in[6], &pos = args.in[7], &sinks = args.in[8], &distances = args.in[9];
  ScoreBias bias{.softcap = attrs.softcap};
  bias.pos = (pos ? pos : last).row<const std::int32_t>(0) + t;
  if (attrs.alibi != 0)
    bias.slopes = static_cast<const Slopes*>(args.prepared)->of_heads.data() + h;
  if (sinks) bias.sinks = sinks.row<const float>(0) + h;
  if (distances) {
    bias.distances = distances.row<const float>(0) + h;
    bias.distance_stride = distances.row_stride / static_cast<std::int64_t>(sizeof(float));
    bias.reach = distances.rows() / 2;
  }
  return bias;
}

float scale_of(const Attrs& attrs, bool biased) {
  return biased ? attrs.as<BiasedAttentionAttrs>().scale : attrs.as<AttentionAttrs>().scale;
}

// Loops over groups, and within each over tiles of tokens.
template <class Arch, bool kBiased>
void run(const KernelArgs& args, const Region& region) noexcept {
  const auto row = [&](std::size_t i) { return args.in[i].row<const std::int32_t>(0); };
  const auto *table_row = row(4), *first = row(5), *last = row(6);
  const std::int64_t e_out = args.out.dim(-1), per_group = args.in[0].dim(1) / args.in[1].dim(1);
  const AttentionKernels kernels = Attention<Arch>::run();
  for (std::int64_t h = region.col0 / e_out, h1 = region.col1 / e_out; h < h1;) {
    const std::int64_t end = std::min(h1, (h / per_group + 1) * per_group);
    for (std::int64_t t = region.row0; t < region.row1;) {
      AttentionArgs call = attention_call(args, kernels, t, h, end);
      const ScoreBias bias = kBiased ? bias_at(args, t, h) : ScoreBias{};
      call.blocks = args.in[3].row<const std::int32_t>(table_row[t]);
      call.first = first[t];
      call.last = last + t;
      call.n_tokens =
          same_run(table_row, first, t, std::min(tile_tokens(end - h), region.row1 - t));
      call.scale = scale_of(*args.attrs, kBiased);
      call.bias = kBiased ? &bias : nullptr;
      kernels.run(call);
      t += call.n_tokens;
    }
    h = end;
  }
}

constexpr auto kRows =
    rows_of<Attention>([]<class Arch>() -> KernelFn { return run<Arch, false>; });
constexpr auto kBiasedRows =
    rows_of<Attention>([]<class Arch>() -> KernelFn { return run<Arch, true>; });

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const TensorSpec &q = graph[node.inputs[0]].spec, &k = graph[node.inputs[1]].spec;
  const TensorSpec& v = graph[node.inputs[2]].spec;
  if (!find_cache_kernels(k.dtype) || !find_cache_kernels(v.dtype)) return std::nullopt;
  const std::int64_t per_group = q.shape[1].bound / k.shape[1].bound;
  // A lane may get part of a group: fewer heads, more tokens.
  const std::int64_t max_rows =
      std::min(std::max(AttentionKernels::kTileRows, per_group), per_group * q.shape[0].bound);
  const AttentionScratch scratch(max_rows, q.shape[2].bound, node.spec.shape.last());
  return with_row(
      attention_name(node.op->name, q.dtype, k.dtype, v.dtype),
      node.op == &kBiasedAttention ? std::span(kBiasedRows) : std::span(kRows), has,
      {.scratch_bytes = align_up(scratch.total * static_cast<std::int64_t>(sizeof(float))),
       .granule = per_group * node.spec.shape.last(),
       .token_tiles = {tile_tokens(per_group)}});
}

std::unique_ptr<PreparedKernel> prepare_slopes(const Machine&, const Graph&, const Node& node) {
  const float alibi = node.attrs.as<BiasedAttentionAttrs>().alibi;
  if (alibi == 0) return nullptr;
  auto slopes = std::make_unique<Slopes>();
  const std::int64_t n_heads = node.spec.shape[1].bound;
  for (std::int64_t h = 0; h < n_heads; ++h)
    slopes->of_heads.push_back(static_cast<float>(alibi_slope(alibi, h, n_heads)));
  return slopes;
}

}  // namespace

extern const CpuOp kCpuAttention{&kAttention, find};
extern const CpuOp kCpuBiasedAttention{&kBiasedAttention, find, prepare_slopes};

}  // namespace weft::cpu
