#include "weft/ops/recurrent/gated_linear_attention.h"

#include "cpu/kernels/states/gated_linear_attention.h"
#include "cpu/ops/projections/token_blocks.h"

namespace weft::cpu {
namespace {

using namespace gated_linear_attention_inputs;

// The part of an input [T, G, ..] or [T, G] that head h of n_heads reads: n_heads / G heads share a
// group.
TokenRows head(const View& x, std::int64_t h, std::int64_t n_heads) {
  return token_rows(x, h / (n_heads / x.dim(1)) * (x.n_dims == 3 ? x.dim(2) : 1));
}

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  static const GatedLinearAttentionKernels kKernels = GatedLinearAttention<Arch>::run();
  const View& bonus = args.in[kBonus];
  const std::int64_t n_heads = args.in[kV].dim(1);
  const TokenBlocks blocks(args.in, args.scratch.data());
  GatedLinearAttentionBlock b{.n = args.in[kState].dim(2),
                              .p = args.in[kState].dim(3),
                              .decay_by_row = args.in[kDecay].n_dims == 3,
                              .y_stride = stride_in_floats(args.out),
                              .scratch = reinterpret_cast<float*>(blocks.rest())};
  for_each_head(args, region, blocks, b, kKernels.block, [&](std::int64_t h) {
    b.q = head(args.in[kQ], h, n_heads);
    b.k = head(args.in[kK], h, n_heads);
    b.v = head(args.in[kV], h, n_heads);
    b.decay = head(args.in[kDecay], h, n_heads);
    if (bonus) b.bonus = bonus.row<const float>(h);
  });
}

constexpr auto kRows =
    rows_of<GatedLinearAttention>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const Shape& state = graph[node.inputs[kState]].spec.shape;
  const std::int64_t n_floats = GatedLinearAttentionKernels::scratch_floats(state[2].bound);
  const std::int64_t scratch =
      TokenBlocks::scratch_bytes(graph, node) + n_floats * static_cast<std::int64_t>(sizeof(float));
  return with_row("gated_linear_attention", kRows, has,
                  {.scratch_bytes = scratch,
                   .granule = state[3].bound,
                   .token_tiles = {GatedLinearAttentionKernels::kTokens}});
}

}  // namespace

extern const CpuOp kCpuGatedLinearAttention{&kGatedLinearAttention, find};

}  // namespace weft::cpu
