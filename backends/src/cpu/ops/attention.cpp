#include "weft/ops/attention.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "weft/backends/memory.h"
#include "weft/ops/alibi.h"
#include "weft/ops/cache_cells.h"
#include "weft/ops/formats/q8a.h"

#include "cpu/cache_kernels.h"
#include "cpu/cpu_ops.h"

namespace weft::cpu {
namespace {

static_assert(AttentionKernels::kCells == kCellsPerBlock);

// Tokens per tile: enough for kTileRows rows, at least one.
std::int64_t tile_tokens(std::int64_t n_heads) {
  return std::max<std::int64_t>(1, AttentionKernels::kTileRows / n_heads);
}

// How many tokens from t on, at most n, have the sequence and the first position of token t.
std::int64_t same_run(const std::int32_t* slot, const std::int32_t* first, std::int64_t t,
                      std::int64_t n) {
  std::int64_t count = 1;
  while (count < n && slot[t + count] == slot[t] && first[t + count] == first[t]) ++count;
  return count;
}

// The slopes of the heads of a node.
struct Slopes : PreparedKernel {
  std::vector<float> of_heads;
};

// What is added to scores, for tokens from t on and heads from h on.
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
  const View &q = args.in[0], &k = args.in[1], &v = args.in[2];
  const auto row = [&](std::size_t i) { return args.in[i].row<const std::int32_t>(0); };
  const auto *slot = row(4), *first = row(5), *last = row(6);
  const std::int64_t e = q.dim(-1), e_out = v.dim(-1), per_group = q.dim(1) / k.dim(1);
  const AttentionKernels kernels = Attention<Arch>::run();
  for (std::int64_t h = region.col0 / e_out, h1 = region.col1 / e_out; h < h1;) {
    const std::int64_t group = h / per_group, end = std::min(h1, (group + 1) * per_group);
    for (std::int64_t t = region.row0; t < region.row1;) {
      const std::int64_t n =
          same_run(slot, first, t, std::min(tile_tokens(end - h), region.row1 - t));
      const ScoreBias bias = kBiased ? bias_at(args, t, h) : ScoreBias{};
      kernels.run({.q = q.row<const std::byte>(t) + q.dtype.bytes(h * e),
                   .q_stride = q.row_stride,
                   .q_in_blocks = q.dtype == q8a,
                   .k = cell_at<const std::byte>(k, 0, group),
                   .v = cell_at<const std::byte>(v, 0, group),
                   .k_stride = k.row_stride,
                   .v_stride = v.row_stride,
                   .blocks = args.in[3].row<const std::int32_t>(slot[t]),
                   .k_cells = kernels.*find_cache_kernels(k.dtype)->cells,
                   .v_cells = kernels.*find_cache_kernels(v.dtype)->cells,
                   .k_bytes = k.dtype.bytes(e),
                   .v_bytes = v.dtype.bytes(e_out),
                   .y = reinterpret_cast<std::byte*>(floats(args.out, t, h * e_out)),
                   .y_stride = args.out.row_stride,
                   .first = first[t],
                   .last = last + t,
                   .n_tokens = n,
                   .n_heads = end - h,
                   .e = e,
                   .e_out = e_out,
                   .scale = scale_of(*args.attrs, kBiased),
                   .bias = kBiased ? &bias : nullptr,
                   .scratch = reinterpret_cast<float*>(args.scratch.data())});
      t += n;
    }
    h = end;
  }
}

// "attention f16", "attention q8_0 f16", "attention q8a q8_0"
std::string name_of(std::string_view op, DType q, DType k, DType v) {
  const std::string name =
      fmt::format("{} {}{}", op, q == q8a ? "q8a " : "", find_cache_kernels(k)->name);
  return k == v ? name : fmt::format("{} {}", name, find_cache_kernels(v)->name);
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
      name_of(node.op->name, q.dtype, k.dtype, v.dtype),
      node.op == &kBiasedAttention ? std::span(kBiasedRows) : std::span(kRows), has,
      {.scratch_bytes = align_up(scratch.total * static_cast<std::int64_t>(sizeof(float))),
       .granule = per_group * node.spec.shape.last(),
       .token_tiles = {tile_tokens(per_group)}});
}

std::unique_ptr<PreparedKernel> prepare_slopes(FeatureSet, const Graph&, const Node& node) {
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
