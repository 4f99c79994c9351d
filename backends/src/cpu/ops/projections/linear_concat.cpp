#include "weft/ops/projections/linear_concat.h"

#include <algorithm>

#include "cpu/ops/projections/projection.h"

namespace weft::cpu {
namespace {

void run(const KernelArgs& args, const Region& region) noexcept {
  const auto& attrs = args.attrs->as<LinearConcatAttrs>();
  const auto count = static_cast<std::size_t>(attrs.count);
  const View& x = args.in[0];
  const auto& rows = ProjectionRows::of(args);
  std::int64_t begin = 0;  // first column of the part
  for (std::size_t i = 1; i <= count; ++i) {
    const View& w = args.in[i];
    LinearArgs a = projection_args(x, w, args.scratch);
    if (attrs.has_bias) a.bias = args.in[i + count].row<const float>(0);
    a.y = args.out.data + begin * static_cast<std::int64_t>(sizeof(float));
    a.y_stride = args.out.row_stride;
    a.row0 = region.row0;
    a.row1 = region.row1;
    a.col0 = std::max<std::int64_t>(region.col0 - begin, 0);
    a.col1 = std::min(region.col1 - begin, w.rows());
    if (a.col0 < a.col1) project(rows[i - 1], x, w, a);
    begin += w.rows();
  }
}

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const std::vector<TensorSpec> in = graph.input_specs(node);
  const std::span weights =
      std::span(in).subspan(1, static_cast<std::size_t>(node.attrs.as<LinearConcatAttrs>().count));
  auto kernel = projection_kernel("linear_concat", in[0], weights, has);
  if (kernel) kernel->run = run;
  return kernel;
}

}  // namespace

extern const CpuOp kCpuLinearConcat{&kLinearConcat, find, prepare_projection};

}  // namespace weft::cpu
