#include "weft/ops/attention/attention_temperature.h"

#include <cmath>

#include "cpu/ops/rows/binary.h"

namespace weft::cpu {
namespace {

float factor_at(const TemperatureAttrs& a, std::int64_t pos) {
  const std::int64_t steps = (pos + a.offset) / a.length;
  return static_cast<float>(1 + a.scale * std::log(static_cast<double>(steps + 1)));
}

template <class Arch>
void run(const KernelArgs& args, const Region& region) noexcept {
  const auto& a = args.attrs->as<TemperatureAttrs>();
  const std::int32_t* pos = args.in[1].row<const std::int32_t>(0);
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    elementwise<Arch>().scale(floats(args.in[0], r, region.col0), factor_at(a, pos[r]),
                              floats(args.out, r, region.col0), region.col1 - region.col0);
  }
}

constexpr auto kRows = rows_of<Elementwise>([]<class Arch>() -> KernelFn { return run<Arch>; });

std::optional<Kernel> find(FeatureSet has, const Graph&, const Node&) {
  return with_row("attention_temperature", kRows, has, {.granule = kElementwiseGranule});
}

}  // namespace

extern const CpuOp kCpuAttentionTemperature{&kAttentionTemperature, find};

}  // namespace weft::cpu
