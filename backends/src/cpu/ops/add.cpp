#include "weft/ops/add.h"

#include "cpu/ops/binary.h"

namespace weft::cpu {
namespace {

template <Isa kIsa>
void run(const KernelArgs& args, const Region& region) noexcept {
  binary(args, region, elementwise<kIsa>().add);
}

std::optional<Kernel> find(Isa isa, const Graph&, const Node&) {
  static constexpr AdaptorFns kRun = per_isa([]<Isa kIsa>() -> KernelFn { return run<kIsa>; });
  return elementwise_kernel("add", isa, kRun);
}

}  // namespace

extern const CpuOp kCpuAdd{&kAdd, find};

}  // namespace weft::cpu
