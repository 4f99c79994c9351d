// The cells of both runs are copied, one behind the other, for the kernel of attention.

#include "weft/ops/attention/joined_attention.h"

#include <algorithm>
#include <numeric>

#include "weft/backends/memory.h"

#include "cpu/ops/attention/attention_runs.h"

namespace weft::cpu {
namespace {

using namespace joined_attention_inputs;

// The sizes on which the amount of scratch memory depends.
struct Sizes {
  std::int64_t n_heads, e, window, n_blocks, n_blocks2, n_chosen, cell_bytes;  // n_chosen 0: all

  std::int64_t max_cells() const {
    const std::int64_t more = n_blocks2 * kCellsPerBlock;
    return std::min(window, n_blocks * kCellsPerBlock) +
           (n_chosen > 0 ? std::min(n_chosen, more) : more);
  }
};

// The parts of scratch memory after those of the kernel, in order, in bytes: a table of blocks, and
// the cells.
struct Scratch {
  std::int64_t n_blocks, blocks, cells, total;

  explicit Scratch(const Sizes& s)
      : n_blocks(blocks_for(s.max_cells())),
        blocks(align_up(AttentionScratch(s.n_heads, s.e, s.e).total * std::int64_t{sizeof(float)})),
        cells(blocks + align_up(n_blocks * std::int64_t{sizeof(std::int32_t)})),
        total(cells + align_up(n_blocks * kCellsPerBlock * s.cell_bytes)) {}
};

const std::int32_t* ids(const View& v) {
  return v.row<const std::int32_t>(0);
}

// Copies the cells of token t. Returns how many there are.
std::int64_t gather(const KernelArgs& args, std::int64_t t, std::byte* to) {
  const Views& in = args.in;
  const std::int32_t table_row = ids(in[kTableRow])[t];
  const View &k = in[kK], &k2 = in[kK2], &chosen = in[kChosen];
  const std::int64_t bytes = k.dtype.bytes(k.dim(3));
  const Positions window{.first = ids(in[kFirst])[t], .last = ids(in[kLast])[t]};
  Positions more{.first = ids(in[kFirst2])[t], .last = ids(in[kLast2])[t]};
  if (chosen) more.n_numbers = chosen.dim(2), more.numbers = chosen.row<const std::int32_t>(t);
  const std::int64_t n = copy_cells(window, in[kTable].row<const std::int32_t>(table_row),
                                    cell_at<const std::byte>(k, 0, 0), k.row_stride, bytes, to);
  return n + copy_cells(more, in[kTable2].row<const std::int32_t>(table_row),
                        cell_at<const std::byte>(k2, 0, 0), k2.row_stride, bytes, to + n * bytes);
}

Scratch scratch_of(const KernelArgs& args) {
  const View &q = args.in[kQ], &k = args.in[kK];
  return Scratch({.n_heads = q.dim(1),
                  .e = q.dim(2),
                  .window = args.attrs->as<JoinedAttentionAttrs>().window,
                  .n_blocks = args.in[kTable].cols(),
                  .n_blocks2 = args.in[kTable2].cols(),
                  .n_chosen = args.in[kChosen] ? args.in[kChosen].dim(2) : 0,
                  .cell_bytes = k.dtype.bytes(q.dim(2))});
}

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  const View &q = args.in[kQ], &k = args.in[kK], &sinks = args.in[kSinks];
  const std::int64_t e = q.dim(2), h0 = region.col0 / e, h1 = region.col1 / e;
  const std::int64_t bytes = k.dtype.bytes(e);
  const Scratch at = scratch_of(args);
  std::byte* const cells = args.scratch.data() + at.cells;
  auto* const blocks = reinterpret_cast<std::int32_t*>(args.scratch.data() + at.blocks);
  std::iota(blocks, blocks + at.n_blocks, 0);
  const AttentionKernels kernels = Attention<Arch>::run();
  const AttentionCells of_type = kernels.*find_cache_kernels(k.dtype)->cells;
  for (std::int64_t t = region.row0; t < region.row1; ++t) {
    const auto last = static_cast<std::int32_t>(gather(args, t, cells) - 1);
    const ScoreBias bias{.sinks = sinks ? sinks.row<const float>(0) + h0 : nullptr, .pos = &last};
    kernels.run({.q = q.row<const std::byte>(t) + q.dtype.bytes(h0 * e),
                 .q_stride = q.row_stride,
                 .q_in_blocks = q.dtype == q8a,
                 .k = cells,
                 .v = cells,
                 .k_stride = kCellsPerBlock * bytes,
                 .v_stride = kCellsPerBlock * bytes,
                 .blocks = blocks,
                 .k_cells = of_type,
                 .v_cells = of_type,
                 .k_bytes = bytes,
                 .v_bytes = bytes,
                 .y = reinterpret_cast<std::byte*>(floats(args.out, t, h0 * e)),
                 .y_stride = args.out.row_stride,
                 .first = 0,
                 .last = &last,
                 .n_tokens = 1,
                 .n_heads = h1 - h0,
                 .e = e,
                 .e_out = e,
                 .scale = args.attrs->as<JoinedAttentionAttrs>().scale,
                 .bias = sinks ? &bias : nullptr,
                 .scratch = reinterpret_cast<float*>(args.scratch.data())});
  }
}

constexpr auto kRows = rows_of<Attention>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const auto spec = [&](std::size_t i) -> const TensorSpec& { return graph[node.inputs[i]].spec; };
  const TensorSpec &q = spec(kQ), &k = spec(kK);
  if (!find_cache_kernels(k.dtype)) return std::nullopt;
  const bool chooses = node.inputs.size() > kChosen && node.inputs[kChosen] != kNoNode;
  const std::int64_t e = q.shape[2].bound;
  const Scratch at({.n_heads = q.shape[1].bound,
                    .e = e,
                    .window = node.attrs.as<JoinedAttentionAttrs>().window,
                    .n_blocks = spec(kTable).shape.last(),
                    .n_blocks2 = spec(kTable2).shape.last(),
                    .n_chosen = chooses ? spec(kChosen).shape.last() : 0,
                    .cell_bytes = k.dtype.bytes(e)});
  return with_row(attention_name(node.op->name, q.dtype, k.dtype, k.dtype), kRows, has,
                  {.scratch_bytes = at.total, .granule = e});
}

}  // namespace

extern const CpuOp kCpuJoinedAttention{&kJoinedAttention, find};

}  // namespace weft::cpu
