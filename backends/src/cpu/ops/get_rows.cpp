#include "weft/ops/get_rows.h"

#include <algorithm>
#include <limits>

#include "weft/base/text.h"

#include "cpu/ops/projection.h"
#include "cpu/panels.h"

namespace weft::cpu {
namespace {

struct TableRow : PreparedKernel {
  WeightRow row;
};

void run(const KernelArgs& args, const Region& region) noexcept {
  const View& table = args.in[0];
  const std::int32_t* ids = args.in[1].row<const std::int32_t>(0);
  const WeightRow& row = static_cast<const TableRow*>(args.prepared)->row;
  for (std::int64_t t = region.row0; t < region.row1; ++t) {
    float* y = floats(args.out, t, region.col0);
    if (ids[t] < 0 || ids[t] >= table.rows()) {
      std::fill_n(y, region.col1 - region.col0, std::numeric_limits<float>::quiet_NaN());
    } else if (in_panels(table.dtype)) {
      kPanels.read_row(table, ids[t], args.scratch.data());
      row.decode(args.scratch.data(), region.col0, region.col1, y);
    } else {
      row.decode(table.row<const std::byte>(ids[t]), region.col0, region.col1, y);
    }
  }
}

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const TensorSpec& table = graph[node.inputs[0]].spec;
  if (node.spec.shape.rank() != 2) return std::nullopt;  // several ids per token
  const WeightRow row = find_weight_row(table.dtype.plain(), has);
  if (!row) return std::nullopt;
  return Kernel{.row = row_name("get_rows " + to_lower(table.dtype.name()), *row.isa),
                .run = run,
                .scratch_bytes = in_panels(table.dtype) ? table.row_bytes() : 0,
                .granule = std::max<std::int64_t>(kProjectionGranule, table.dtype.block_elems())};
}

std::unique_ptr<PreparedKernel> prepare(FeatureSet has, const Graph& graph, const Node& node) {
  auto table = std::make_unique<TableRow>();
  table->row = find_weight_row(graph[node.inputs[0]].spec.dtype.plain(), has);
  return table;
}

}  // namespace

extern const CpuOp kCpuGetRows{&kGetRows, find, prepare};

}  // namespace weft::cpu
