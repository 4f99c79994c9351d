#include "weft/ops/projections/linear.h"

#include "cpu/ops/projections/projection.h"

namespace weft::cpu {
namespace {

void run(const KernelArgs& args, const Region& region) noexcept {
  const View &x = args.in[0], &w = args.in[1], &bias = args.in[2], &residual = args.in[3];
  LinearArgs a = projection_args(x, w, args.scratch);
  if (bias) a.bias = bias.row<const float>(0);
  a.residual = residual.data;
  a.residual_stride = residual.row_stride;
  a.y = args.out.data;
  a.y_stride = args.out.row_stride;
  a.row0 = region.row0;
  a.row1 = region.row1;
  a.col0 = region.col0;
  a.col1 = region.col1;
  project(ProjectionRows::of(args)[0], x, w, a);
}

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const std::vector<TensorSpec> in = graph.input_specs(node);
  auto kernel = projection_kernel("linear", in[0], {&in[1], 1}, has);
  if (kernel) kernel->run = run;
  return kernel;
}

}  // namespace

extern const CpuOp kCpuLinear{&kLinear, find, prepare_projection};

}  // namespace weft::cpu
