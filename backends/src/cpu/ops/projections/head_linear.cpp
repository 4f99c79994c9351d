#include "weft/ops/projections/head_linear.h"

#include <algorithm>

#include "cpu/ops/projections/projection.h"

namespace weft::cpu {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

// One projection per head: rows of x and y lie a token apart.
void run(const KernelArgs& args, const Region& region) noexcept {
  const View &x = args.in[0], &w = args.in[1];
  const std::int64_t k = x.dim(-1), n = args.out.dim(-1), n_rows = region.row1 - region.row0;
  for (std::int64_t h = region.col0 / n; h * n < region.col1; ++h) {
    const View rows{.data = x.row<std::byte>(region.row0) + h * k * kFloat,
                    .dtype = x.dtype,
                    .n_dims = 2,
                    .dims = {n_rows, k},
                    .row_stride = x.row_stride};
    const View matrix{.data = w.row<std::byte>(h),
                      .dtype = w.dtype,
                      .n_dims = 2,
                      .dims = {n, k},
                      .row_stride = w.dtype.bytes(k)};
    LinearArgs a = projection_args(rows, matrix, args.scratch);
    a.y = args.out.row<std::byte>(region.row0) + h * n * kFloat;
    a.y_stride = args.out.row_stride;
    a.row1 = n_rows;
    a.col0 = std::max<std::int64_t>(region.col0 - h * n, 0);
    a.col1 = std::min(region.col1 - h * n, n);
    project(ProjectionRows::of(args)[0], rows, matrix, a);
  }
}

std::optional<Kernel> find(FeatureSet has, const Graph& graph, const Node& node) {
  const std::vector<TensorSpec> in = graph.input_specs(node);
  auto kernel = projection_kernel("head_linear", in[0], {&in[1], 1}, has);
  if (kernel) kernel->run = run;
  return kernel;
}

std::unique_ptr<PreparedKernel> prepare(const Machine& machine, const Graph& graph,
                                        const Node& node) {
  const std::vector<TensorSpec> in = graph.input_specs(node);
  auto rows = std::make_unique<ProjectionRows>();
  rows->weights.push_back(projection_row(in[0], in[1], machine));
  return rows;
}

}  // namespace

extern const CpuOp kCpuHeadLinear{&kHeadLinear, find, prepare};

}  // namespace weft::cpu
