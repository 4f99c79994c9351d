// A few sines per step, used by every layer: the scalar definition will do.

#include "weft/ops/rope_angles.h"

#include "cpu/cpu_ops.h"

namespace weft::cpu {
namespace {

void run(const KernelArgs& args, const Region&) noexcept {
  kRopeAngles.reference(*args.attrs, args.in, args.out);
}

std::optional<Kernel> find(Isa, const Graph&, const Node&) {
  return Kernel{.row = "rope_angles scalar", .run = run, .splits = false};
}

}  // namespace

extern const CpuOp kCpuRopeAngles{&kRopeAngles, find};

}  // namespace weft::cpu
