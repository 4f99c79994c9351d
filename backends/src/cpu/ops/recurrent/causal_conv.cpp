#include "weft/ops/recurrent/causal_conv.h"

#include <algorithm>

#include "weft/ops/formats/format.h"

#include "cpu/kernels/states/causal_conv.h"
#include "cpu/ops/projections/token_blocks.h"

namespace weft::cpu {
namespace {

constexpr std::int64_t kTile = CausalConvKernels::kTile;
using namespace causal_conv_inputs;

// The parts of the scratch memory behind the order of the tokens.
struct Scratch {
  float *rows, *weights, *history;

  Scratch(std::byte* at, std::int64_t taps)
      : rows(reinterpret_cast<float*>(at)),
        weights(rows + taps * kTile),
        history(weights + taps * kTile) {}
  static std::int64_t bytes(std::int64_t taps) {
    return 3 * taps * kTile * static_cast<std::int64_t>(sizeof(float));
  }
};

// The weights of a tile as floats, K per channel or more.
TokenRows weight_rows(const View& w, std::int64_t first, std::int64_t n_channels, float* scratch) {
  if (w.dtype == f32) return {floats(w, first, 0), stride_in_floats(w)};
  const Format& format = *find_format(w.dtype);
  for (std::int64_t c = 0; c < n_channels; ++c)
    format.decode(w.row<const std::byte>(first + c), scratch + c * w.cols(), w.cols());
  return {scratch, w.cols()};
}

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  static const CausalConvKernels kKernels = CausalConv<Arch>::run();
  const View &w = args.in[kW], &bias = args.in[kBias];
  const std::int64_t taps = w.dim(1);
  const TokenBlocks blocks(args.in, args.scratch.data());
  const Scratch scratch(blocks.rest(), taps);
  for (std::int64_t c = region.col0; c < region.col1; c += kTile) {
    CausalConvBlock b{.n_channels = std::min(kTile, region.col1 - c), .taps = taps};
    const TokenRows rows = weight_rows(w, c, b.n_channels, scratch.rows);
    kKernels.weights(rows.data, rows.stride, b.n_channels, taps, scratch.weights);
    b.x = token_rows(args.in[kX], c);
    if (bias) b.bias = floats(bias, 0, c);
    b.weights = scratch.weights;
    b.history = scratch.history;
    b.silu = args.attrs->as<CausalConvAttrs>().silu;
    b.y = floats(args.out, 0, c);
    b.y_stride = stride_in_floats(args.out);
    blocks.for_each(c * (taps - 1), [&](const TokenBlock& block) {
      b.tokens = block;
      kKernels.block(b);
    });
  }
}

constexpr auto kRows = rows_of<CausalConv>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const TensorSpec& w = graph[node.inputs[kW]].spec;
  if (w.dtype.layout()) return std::nullopt;
  const std::int64_t scratch =
      TokenBlocks::scratch_bytes(graph, node) + Scratch::bytes(w.shape[1].bound);
  return with_row("causal_conv", kRows, has, {.scratch_bytes = scratch, .granule = 16});
}

}  // namespace

extern const CpuOp kCpuCausalConv{&kCausalConv, find};

}  // namespace weft::cpu
