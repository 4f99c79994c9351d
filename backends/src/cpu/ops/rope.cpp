#include "weft/ops/rope.h"

#include <cstring>

#include "weft/backends/memory.h"

#include "cpu/cpu_ops.h"
#include "cpu/kernel_rows.h"
#include "cpu/kernels/rope.h"

namespace weft::cpu {
namespace {

constexpr auto kRows = float_rows<Rope>();

struct Factors {
  float *cos, *sin;
};

// (cos, sin) pairs of one token, laid out as the kernel reads them.
Factors spread(const float* angles, std::int64_t n_rot, bool adjacent, float* scratch) {
  const Factors f{scratch, scratch + n_rot};
  for (std::int64_t i = 0; i < n_rot / 2; ++i) {
    const float c = angles[2 * i], s = angles[2 * i + 1];
    if (adjacent) {
      f.cos[2 * i] = f.cos[2 * i + 1] = c;
      f.sin[2 * i] = -s;
      f.sin[2 * i + 1] = s;
    } else {
      f.cos[i] = c;
      f.sin[i] = s;
    }
  }
  return f;
}

template <Isa kIsa>
void run(const KernelArgs& args, const Region& region) noexcept {
  const View &x = args.in[0], &angles = args.in[1], &out = args.out;
  const std::int64_t e = x.dim(-1), n_rot = angles.cols();
  const bool adjacent = args.attrs->as<RopeApplyAttrs>().pairs == RopePairs::adjacent;
  const RopeKernels kernels = best_row(kRows, kIsa).run();
  const auto rotate = adjacent ? kernels.adjacent : kernels.halves;
  for (std::int64_t t = region.row0; t < region.row1; ++t) {
    const Factors f = spread(angles.row<const float>(t), n_rot, adjacent,
                             reinterpret_cast<float*>(args.scratch.data()));
    for (std::int64_t c = region.col0; c < region.col1; c += e) {
      const float* from = floats(x, t, c);
      float* to = floats(out, t, c);
      rotate(from, f.cos, f.sin, to, n_rot);
      if (to != from)
        std::memcpy(to + n_rot, from + n_rot, static_cast<std::size_t>(e - n_rot) * sizeof(float));
    }
  }
}

std::optional<Kernel> find(Isa isa, const Graph& graph, const Node& node) {
  static constexpr AdaptorFns kRun = per_isa([]<Isa kIsa>() -> KernelFn { return run<kIsa>; });
  const std::int64_t n_rot = graph[node.inputs[1]].spec.shape.cols();
  return Kernel{.row = row_name("rope", best_row(kRows, isa).isa),
                .run = at(kRun, isa),
                .scratch_bytes = align_up(2 * n_rot * static_cast<std::int64_t>(sizeof(float))),
                .granule = node.spec.shape.last()};
}

}  // namespace

extern const CpuOp kCpuRope{&kRope, find};

}  // namespace weft::cpu
