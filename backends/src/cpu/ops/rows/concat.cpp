#include "weft/ops/rows/concat.h"

#include <algorithm>
#include <cstring>

#include "cpu/cpu_ops.h"

namespace weft::cpu {
namespace {

void run(const KernelArgs& args, const Region& region) noexcept {
  std::int64_t begin = 0;  // first column of the part
  for (const View& part : args.in) {
    const std::int64_t from = std::max(region.col0, begin),
                       to = std::min(region.col1, begin + part.cols());
    for (std::int64_t r = region.row0; from < to && r < region.row1; ++r) {
      std::memcpy(floats(args.out, r, from), floats(part, r, from - begin),
                  static_cast<std::size_t>(to - from) * sizeof(float));
    }
    begin += part.cols();
  }
}

std::optional<Kernel> find(FeatureSet, const Graph&, const Node&) {
  return Kernel{.row = "concat copy", .run = run};
}

}  // namespace

extern const CpuOp kCpuConcat{&kConcat, find};

}  // namespace weft::cpu
