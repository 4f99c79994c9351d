#include "weft/ops/get_rows.h"

#include <algorithm>
#include <limits>

#include "weft/ops/formats/panels.h"

#include "cpu/ops/projection.h"

namespace weft::cpu {
namespace {

template <Isa kIsa>
void run(const KernelArgs& args, const Region& region) noexcept {
  const View& table = args.in[0];
  const std::int32_t* ids = args.in[1].row<const std::int32_t>(0);
  const auto decode = weight_kernels(table.dtype.plain(), kIsa).decode;
  for (std::int64_t t = region.row0; t < region.row1; ++t) {
    float* y = floats(args.out, t, region.col0);
    if (ids[t] < 0 || ids[t] >= table.rows()) {
      std::fill_n(y, region.col1 - region.col0, std::numeric_limits<float>::quiet_NaN());
    } else if (table.dtype.is_panels()) {
      row_of_panels(table, ids[t], args.scratch.data());
      decode(args.scratch.data(), region.col0, region.col1, y);
    } else {
      decode(table.row<const std::byte>(ids[t]), region.col0, region.col1, y);
    }
  }
}

std::optional<Kernel> find(Isa isa, const Graph& graph, const Node& node) {
  const TensorSpec& table = graph[node.inputs[0]].spec;
  const DType plain = table.dtype.plain();
  if (!has_weight_kernels(plain)) return std::nullopt;
  static constexpr AdaptorFns kRun = per_isa([]<Isa kIsa>() -> KernelFn { return run<kIsa>; });
  return Kernel{
      .row = row_name("get_rows " + lower(table.dtype.name()), weight_row_isa(plain, isa)),
      .run = at(kRun, isa),
      .scratch_bytes = table.dtype.is_panels() ? table.row_bytes() : 0,
      .granule = std::max<std::int64_t>(kProjectionGranule, table.dtype.block_elems())};
}

}  // namespace

extern const CpuOp kCpuGetRows{&kGetRows, find};

}  // namespace weft::cpu
