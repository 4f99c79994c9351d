// A few exponentials per token, next to the two projections that give them: the scalar definition
// is fast enough, and gives the same bits on every instruction set.

#include "weft/ops/rows/pool_tokens.h"

#include <algorithm>

#include "cpu/ops/projections/token_blocks.h"

namespace weft::cpu {
namespace {

using namespace pool_tokens_inputs;

// The floats of the state per element.
std::int64_t pool_floats(const Shape& state) {
  return state[2].bound * state[3].bound;
}

void run(const KernelArgs& args, const Region& region) noexcept {
  const auto& attrs = args.attrs->as<PoolTokensAttrs>();
  const View& state = args.in[kState];
  const std::int64_t each = state.dim(2) * state.dim(3);
  const std::int64_t n = (region.col1 - region.col0) * each;
  const TokenBlocks blocks(args.in, args.scratch.data());
  auto* const pools = reinterpret_cast<float*>(blocks.rest());
  blocks.for_each(region.col0 * each, [&](const TokenBlock& block) {
    if (block.from) {
      std::copy_n(block.from, n, pools);
    } else {
      std::fill_n(pools, n, 0.0f);
    }
    for (std::int64_t i = 0; i < block.n_tokens; ++i) {
      const std::int64_t t = block.tokens[i];
      float* pool = pools;
      for (std::int64_t e = region.col0; e < region.col1; ++e, pool += each)
        *floats(args.out, t, e) = pool_token(attrs, args.in, t, e, pool);
    }
    if (block.to) std::copy_n(pools, n, block.to);
  });
}

std::optional<Kernel> find(FeatureSet, const Graph& graph, const Node& node) {
  const Shape& state = graph[node.inputs[kState]].spec.shape;
  const std::int64_t n_floats = state[1].bound * pool_floats(state);
  return Kernel{.row = "pool_tokens scalar",
                .run = run,
                .scratch_bytes = TokenBlocks::scratch_bytes(graph, node) +
                                 n_floats * static_cast<std::int64_t>(sizeof(float)),
                .granule = 16};
}

}  // namespace

extern const CpuOp kCpuPoolTokens{&kPoolTokens, find};

}  // namespace weft::cpu
