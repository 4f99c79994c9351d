// Rows of a table of weights: get_rows, and bucket_distances, whose rows are known beforehand.

#include "weft/ops/rows/get_rows.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "weft/base/text.h"
#include "weft/ops/attention/bucket_distances.h"

#include "cpu/cpu_ops.h"
#include "cpu/panels.h"
#include "cpu/weight_formats.h"

namespace weft::cpu {
namespace {

constexpr std::int64_t kGranule = 16;  // floats of a cache line

struct TableRow : PreparedKernel {
  WeightRow row;
  std::vector<std::int32_t> buckets;  // for bucket_distances: buckets by distance
};

// Columns [begin, end) of row `id` of the table.
void look_up(const KernelArgs& args, std::int32_t id, std::int64_t begin, std::int64_t end,
             float* y) noexcept {
  const View& table = args.in[0];
  const WeightRow& row = static_cast<const TableRow*>(args.prepared)->row;
  if (id < 0 || id >= table.rows()) {
    std::fill_n(y, end - begin, std::numeric_limits<float>::quiet_NaN());
  } else if (in_panels(table.dtype)) {
    kPanels.read_row(table, id, args.scratch.data());
    row.decode(args.scratch.data(), begin, end, y);
  } else {
    row.decode(table.row<const std::byte>(id), begin, end, y);
  }
}

void run(const KernelArgs& args, const Region& region) noexcept {
  const View& ids = args.in[1];
  const std::int64_t d = args.in[0].cols();
  for (std::int64_t t = region.row0; t < region.row1; ++t) {
    const std::int32_t* of_row =
        ids.n_dims == 1 ? ids.row<const std::int32_t>(0) + t : ids.row<const std::int32_t>(t);
    for (std::int64_t c = region.col0; c < region.col1;) {
      const std::int64_t k = c / d, end = std::min((k + 1) * d, region.col1);
      look_up(args, of_row[k], c - k * d, end - k * d, floats(args.out, t, c));
      c = end;
    }
  }
}

void run_buckets(const KernelArgs& args, const Region& region) noexcept {
  const auto& buckets = static_cast<const TableRow*>(args.prepared)->buckets;
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    look_up(args, buckets[static_cast<std::size_t>(r)], region.col0, region.col1,
            floats(args.out, r, region.col0));
  }
}

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const TensorSpec& table = graph[node.inputs[0]].spec;
  const WeightRow row = find_weight_row(table.dtype.plain(), has);
  if (!row) return std::nullopt;
  return Kernel{
      .row = row_name(fmt::format("{} {}", node.op->name, to_lower(table.dtype.name())), *row.isa),
      .run = node.op == &kBucketDistances ? run_buckets : run,
      .scratch_bytes = in_panels(table.dtype) ? table.row_bytes() : 0,
      .granule = std::max<std::int64_t>(kGranule, table.dtype.block_elems())};
}

std::unique_ptr<PreparedKernel> prepare(const Machine& machine, const Graph& graph,
                                        const Node& node) {
  auto table = std::make_unique<TableRow>();
  table->row = find_weight_row(graph[node.inputs[0]].spec.dtype.plain(), machine.features);
  return table;
}

std::unique_ptr<PreparedKernel> prepare_buckets(const Machine& machine, const Graph& graph,
                                                const Node& node) {
  const TensorSpec& spec = graph[node.inputs[0]].spec;
  const auto& attrs = node.attrs.as<BucketAttrs>();
  auto table = std::make_unique<TableRow>();
  table->row = find_weight_row(spec.dtype.plain(), machine.features);
  for (std::int64_t d = -attrs.max_distance; d <= attrs.max_distance; ++d) {
    table->buckets.push_back(
        static_cast<std::int32_t>(distance_bucket(attrs, spec.shape[0].bound, d)));
  }
  return table;
}

}  // namespace

extern const CpuOp kCpuBucketDistances{&kBucketDistances, find, prepare_buckets};
extern const CpuOp kCpuGetRows{&kGetRows, find, prepare};

}  // namespace weft::cpu
