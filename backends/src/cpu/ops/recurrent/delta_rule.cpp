#include "weft/ops/recurrent/delta_rule.h"

#include "cpu/kernels/states/delta_rule.h"
#include "cpu/ops/projections/token_blocks.h"

namespace weft::cpu {
namespace {

using namespace delta_rule_inputs;

// Head h of an input [T, H, ..] or [T, H].
TokenRows head(const View& x, std::int64_t h) {
  return token_rows(x, h * (x.n_dims == 3 ? x.dim(2) : 1));
}

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  static const DeltaRuleKernels kKernels = DeltaRule<Arch>::run();
  const TokenBlocks blocks(args.in, args.scratch.data());
  DeltaRuleBlock b{.n = args.in[kState].dim(2),
                   .p = args.in[kState].dim(3),
                   .decay_by_row = args.in[kDecay].n_dims == 3,
                   .y_stride = stride_in_floats(args.out),
                   .tile = reinterpret_cast<float*>(blocks.rest())};
  for_each_head(args, region, blocks, b, kKernels.block, [&](std::int64_t h) {
    b.q = head(args.in[kQ], h);
    b.k = head(args.in[kK], h);
    b.v = head(args.in[kV], h);
    b.decay = head(args.in[kDecay], h);
    b.remove = head(args.in[kRemove], h);
    b.write = head(args.in[kWrite], h);
  });
}

constexpr auto kRows = rows_of<DeltaRule>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const Shape& state = graph[node.inputs[kState]].spec.shape;
  const std::int64_t tile = state[2].bound * DeltaRuleKernels::kMaxTile;
  const std::int64_t scratch =
      TokenBlocks::scratch_bytes(graph, node) + tile * static_cast<std::int64_t>(sizeof(float));
  return with_row("delta_rule", kRows, has, {.scratch_bytes = scratch, .granule = state[3].bound});
}

}  // namespace

extern const CpuOp kCpuDeltaRule{&kDeltaRule, find};

}  // namespace weft::cpu
