// A few sines per step, used by every layer: the scalar definition is fast enough. The work is
// split so that no lane waits for another.

#include "weft/ops/positions/rope_angles.h"

#include "cpu/cpu_ops.h"

namespace weft::cpu {
namespace {

void run(const KernelArgs& args, const Region& region) noexcept {
  rope_angles_region(args.attrs->as<RopeAttrs>(), args.in, args.out, region);
}

std::optional<Kernel> find(FeatureSet, const Graph&, const Node&) {
  return Kernel{.row = "rope_angles scalar", .run = run, .granule = 2};
}

}  // namespace

extern const CpuOp kCpuRopeAngles{&kRopeAngles, find};

}  // namespace weft::cpu
