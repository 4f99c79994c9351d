// A few numbers per token: the scalar definition is fast enough.

#include "weft/ops/norms/stream_weights.h"

#include "cpu/cpu_ops.h"

namespace weft::cpu {
namespace {

void run(const KernelArgs& args, const Region& region) noexcept {
  stream_weights_rows(args.attrs->as<StreamWeightsAttrs>(), args.in, args.out, region.row0,
                      region.row1);
}

std::optional<Kernel> find(FeatureSet, const Graph&, const Node& node) {
  return Kernel{.row = "stream_weights scalar", .run = run, .granule = node.spec.shape.last()};
}

}  // namespace

extern const CpuOp kCpuStreamWeights{&kStreamWeights, find};

}  // namespace weft::cpu
