#include "weft/ops/recurrent/selective_scan.h"

#include <algorithm>

#include "cpu/kernels/states/selective_scan.h"
#include "cpu/ops/projections/token_blocks.h"

namespace weft::cpu {
namespace {

constexpr std::int64_t kTile = SelectiveScanKernels::kTile;
using namespace selective_scan_inputs;

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  static const SelectiveScanKernels kKernels = SelectiveScan<Arch>::run();
  const View& a = args.in[kA];
  const std::int64_t n = a.dim(1);
  const TokenBlocks blocks(args.in, args.scratch.data());
  auto* const rates = reinterpret_cast<float*>(blocks.rest());
  for (std::int64_t c = region.col0; c < region.col1; c += kTile) {
    SelectiveScanBlock b{.n = n,
                         .n_channels = std::min(kTile, region.col1 - c),
                         .x = token_rows(args.in[kX], c),
                         .dt = token_rows(args.in[kDt], c),
                         .b = token_rows(args.in[kB], 0),
                         .c = token_rows(args.in[kC], 0),
                         .a = rates,
                         .state = rates + n * kTile,
                         .y = floats(args.out, 0, c),
                         .y_stride = stride_in_floats(args.out)};
    b.a_is_negative = kKernels.rates(floats(a, c, 0), stride_in_floats(a), b.n_channels, n, rates);
    blocks.for_each(c * n, [&](const TokenBlock& block) {
      b.tokens = block;
      kKernels.block(b);
    });
  }
}

constexpr auto kRows = rows_of<SelectiveScan>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const std::int64_t n_floats = 2 * graph[node.inputs[kA]].spec.shape[1].bound * kTile;
  const std::int64_t scratch =
      TokenBlocks::scratch_bytes(graph, node) + n_floats * static_cast<std::int64_t>(sizeof(float));
  return with_row("selective_scan", kRows, has, {.scratch_bytes = scratch, .granule = kTile});
}

}  // namespace

extern const CpuOp kCpuSelectiveScan{&kSelectiveScan, find};

}  // namespace weft::cpu
