#include "weft/ops/attention/chosen_attention.h"

#include <algorithm>

#include "weft/backends/memory.h"

#include "cpu/ops/attention/attention_runs.h"

namespace weft::cpu {
namespace {

// The parts of scratch memory after those of the kernel, in order, in bytes: a table of blocks, and
// copies of keys and values. Only spans that are not whole blocks of the cache are copied.
struct Scratch {
  std::int64_t blocks, k, v, total;

  Scratch(const AttentionScratch& kernel, const ChosenAttentionAttrs& a, std::int64_t n_chosen,
          std::int64_t n_blocks, std::int64_t k_bytes, std::int64_t v_bytes) {
    const std::int64_t max_spans = (n_blocks * kCellsPerBlock - 1) / a.span + 1;
    n_blocks = std::min(n_blocks, blocks_for(std::min(n_chosen, max_spans) * a.span) + 1);
    const std::int64_t n_cells = a.span % kCellsPerBlock == 0 ? 0 : n_blocks * kCellsPerBlock;
    blocks = align_up(kernel.total * std::int64_t{sizeof(float)});
    k = blocks + align_up(n_blocks * std::int64_t{sizeof(std::int32_t)});
    v = k + align_up(n_cells * k_bytes);
    total = v + align_up(n_cells * v_bytes);
  }
};

// The positions that token t attends to with choice c.
Positions positions_of(const KernelArgs& args, std::int64_t t, std::int64_t c) {
  const View& chosen = args.in[7];
  const std::int64_t n = chosen.dim(2);
  return {.span = args.attrs->as<ChosenAttentionAttrs>().span,
          .n_numbers = n,
          .numbers = chosen.row<const std::int32_t>(t) + c * n,
          .first = args.in[5].row<const std::int32_t>(0)[t],
          .last = args.in[6].row<const std::int32_t>(0)[t]};
}

// A run that the kernel for attention can compute.
struct Run {
  std::int64_t n = 0;        // positions
  std::int64_t first = 0;    // the first one, in block 0 of the table
  bool whole_blocks = true;  // with other positions only before the first and after the last one
};

Run run_of(const Positions& positions) {
  Run run;
  std::int64_t last_end = 0;
  positions.for_each_range([&](std::int64_t begin, std::int64_t end) {
    if (run.n == 0) run.first = begin % kCellsPerBlock;
    if (run.n > 0 && (last_end % kCellsPerBlock != 0 || begin % kCellsPerBlock != 0))
      run.whole_blocks = false;
    run.n += end - begin;
    last_end = end;
  });
  if (!run.whole_blocks) run.first = 0;
  return run;
}

// Writes the blocks of the positions.
void list_blocks(const Positions& positions, const std::int32_t* table, std::int32_t* blocks) {
  positions.for_each_range([&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin / kCellsPerBlock; b * kCellsPerBlock < end; ++b)
      *blocks++ = table[b];
  });
}

// One token, heads h .. h_end - 1, which share their keys and their choice.
void attend(const KernelArgs& args, const AttentionKernels& kernels, const Scratch& at,
            std::int64_t t, std::int64_t h, std::int64_t h_end) {
  AttentionArgs call = attention_call(args, kernels, t, h, h_end);
  const Positions positions = positions_of(args, t, h / (args.in[0].dim(1) / args.in[7].dim(1)));
  const Run run = run_of(positions);
  if (run.n == 0) {
    std::fill_n(floats(args.out, t, h * call.e_out), (h_end - h) * call.e_out, 0.0f);
    return;
  }
  const std::int32_t table_row = args.in[4].row<const std::int32_t>(0)[t];
  const std::int32_t* table = args.in[3].row<const std::int32_t>(table_row);
  auto* blocks = reinterpret_cast<std::int32_t*>(args.scratch.data() + at.blocks);
  if (run.whole_blocks) {
    list_blocks(positions, table, blocks);
  } else {
    std::byte *k = args.scratch.data() + at.k, *v = args.scratch.data() + at.v;
    copy_cells(positions, table, call.k, call.k_stride, call.k_bytes, k);
    copy_cells(positions, table, call.v, call.v_stride, call.v_bytes, v);
    call.k = k, call.k_stride = kCellsPerBlock * call.k_bytes;
    call.v = v, call.v_stride = kCellsPerBlock * call.v_bytes;
    for (std::int32_t b = 0; b < blocks_for(run.n); ++b) blocks[b] = b;
  }
  const auto last = static_cast<std::int32_t>(run.first + run.n - 1);
  const View& sinks = args.in[8];
  const ScoreBias bias{.sinks = sinks ? sinks.row<const float>(0) + h : nullptr, .pos = &last};
  call.blocks = blocks;
  call.first = run.first;
  call.last = &last;
  call.n_tokens = 1;
  call.scale = args.attrs->as<ChosenAttentionAttrs>().scale;
  call.bias = sinks ? &bias : nullptr;
  kernels.run(call);
}

Scratch scratch_of(const Attrs& attrs, std::int64_t heads, std::int64_t n_chosen,
                   std::int64_t n_blocks, DType k, DType v, std::int64_t e, std::int64_t e_out) {
  return Scratch(AttentionScratch(heads, e, e_out), attrs.as<ChosenAttentionAttrs>(), n_chosen,
                 n_blocks, k.bytes(e), v.bytes(e_out));
}

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  const View &q = args.in[0], &k = args.in[1], &v = args.in[2], &chosen = args.in[7];
  const std::int64_t n_heads = q.dim(1), e_out = v.dim(-1);
  const std::int64_t per_group = n_heads / k.dim(1), per_choice = n_heads / chosen.dim(1);
  const Scratch at = scratch_of(*args.attrs, per_group, chosen.dim(2), args.in[3].cols(), k.dtype,
                                v.dtype, q.dim(2), e_out);
  const AttentionKernels kernels = Attention<Arch>::run();
  for (std::int64_t h = region.col0 / e_out, h1 = region.col1 / e_out; h < h1;) {
    const std::int64_t end =
        std::min({h1, (h / per_group + 1) * per_group, (h / per_choice + 1) * per_choice});
    for (std::int64_t t = region.row0; t < region.row1; ++t) attend(args, kernels, at, t, h, end);
    h = end;
  }
}

constexpr auto kRows = rows_of<Attention>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const auto spec = [&](std::size_t i) -> const TensorSpec& { return graph[node.inputs[i]].spec; };
  const TensorSpec &q = spec(0), &k = spec(1), &v = spec(2);
  if (!find_cache_kernels(k.dtype) || !find_cache_kernels(v.dtype)) return std::nullopt;
  const std::int64_t per_group = q.shape[1].bound / k.shape[1].bound,
                     e_out = node.spec.shape.last();
  const Scratch at = scratch_of(node.attrs, per_group, spec(7).shape.last(), spec(3).shape.last(),
                                k.dtype, v.dtype, q.shape[2].bound, e_out);
  return with_row(attention_name(node.op->name, q.dtype, k.dtype, v.dtype), kRows, has,
                  {.scratch_bytes = at.total, .granule = per_group * e_out});
}

}  // namespace

extern const CpuOp kCpuChosenAttention{&kChosenAttention, find};

}  // namespace weft::cpu
