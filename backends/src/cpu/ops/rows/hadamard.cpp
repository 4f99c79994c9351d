#include "weft/ops/rows/hadamard.h"

#include <cmath>

#include "cpu/cpu_ops.h"
#include "cpu/kernels/rows/hadamard.h"

namespace weft::cpu {
namespace {

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  static const auto kRun = Hadamard<Arch>::run();
  HadamardArgs a{.e = args.out.dim(-1)};
  a.n_heads = (region.col1 - region.col0) / a.e;
  for (std::int64_t begin = 0; begin < a.e; begin += a.n) {
    a.n = hadamard_part(a.e - begin);
    a.factor = static_cast<float>(1 / std::sqrt(static_cast<double>(a.n)));
    for (std::int64_t t = region.row0; t < region.row1; ++t) {
      a.x = floats(args.in[0], t, region.col0 + begin);
      a.y = floats(args.out, t, region.col0 + begin);
      kRun(a);
    }
  }
}

constexpr auto kRows = rows_of<Hadamard>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph&, const Node& node) {
  return with_row("hadamard", kRows, has, {.granule = node.spec.shape.last()});
}

}  // namespace

extern const CpuOp kCpuHadamard{&kHadamard, find};

}  // namespace weft::cpu
