#include "weft/ops/attention.h"

#include <algorithm>

#include "weft/backends/memory.h"

#include "cpu/cpu_ops.h"
#include "cpu/kernel_rows.h"
#include "cpu/kernels/attention.h"

namespace weft::cpu {
namespace {

constexpr auto kRows = float_rows<Attention>();

// One group after the other, so that its keys and values stay in cache while all tokens pass.
template <Isa kIsa>
void run(const KernelArgs& args, const Region& region) noexcept {
  const View &q = args.in[0], &k = args.in[1], &v = args.in[2];
  const std::int32_t* first = args.in[3].row<const std::int32_t>(0);
  const std::int32_t* last = args.in[4].row<const std::int32_t>(0);
  const std::int64_t e = q.dim(-1), e_out = v.dim(-1), per_group = q.dim(1) / k.dim(1);
  const AttentionKernels kernels = best_row(kRows, kIsa).run();
  const auto kernel = k.dtype == f16 ? kernels.f16 : kernels.f32;
  const std::int64_t h1 = region.col1 / e_out;
  for (std::int64_t h = region.col0 / e_out; h < h1;) {
    const std::int64_t group = h / per_group, end = std::min(h1, (group + 1) * per_group);
    for (std::int64_t t = region.row0; t < region.row1; ++t) {
      kernel({.q = floats(q, t, h * e),
              .k = k.row<const std::byte>(first[t]) + k.dtype.bytes(group * e),
              .k_stride = k.row_stride,
              .v = v.row<const std::byte>(first[t]) + v.dtype.bytes(group * e_out),
              .v_stride = v.row_stride,
              .y = floats(args.out, t, h * e_out),
              .n_cells = last[t] - first[t] + 1,
              .n_heads = end - h,
              .e = e,
              .e_out = e_out,
              .scale = args.attrs->as<AttentionAttrs>().scale,
              .scratch = reinterpret_cast<float*>(args.scratch.data())});
    }
    h = end;
  }
}

std::optional<Kernel> find(Isa isa, const Graph& graph, const Node& node) {
  static constexpr AdaptorFns kRun = per_isa([]<Isa kIsa>() -> KernelFn { return run<kIsa>; });
  const TensorSpec &q = graph[node.inputs[0]].spec, &k = graph[node.inputs[1]].spec;
  const std::int64_t per_group = q.shape[1].bound / k.shape[1].bound;
  return Kernel{
      .row = row_name(k.dtype == f16 ? "attention f16" : "attention f32", best_row(kRows, isa).isa),
      .run = at(kRun, isa),
      .scratch_bytes =
          align_up(attention_scratch(per_group) * static_cast<std::int64_t>(sizeof(float))),
      .granule = per_group * node.spec.shape.last()};
}

}  // namespace

extern const CpuOp kCpuAttention{&kAttention, find};

}  // namespace weft::cpu
