// Ops that combine the elements of a row or a head: gaussian_top_k, layer_norm, normalize_sum,
// softmax, weighted_sum.

#include "weft/ops/ids/gaussian_top_k.h"
#include "weft/ops/norms/layer_norm.h"
#include "weft/ops/norms/normalize_sum.h"
#include "weft/ops/norms/softmax.h"
#include "weft/ops/rows/weighted_sum.h"

#include "cpu/ops/rows/binary.h"
#include "cpu/ops/rows/row_kernels.h"

namespace weft::cpu {
namespace {

// An op that maps groups of the last dimension, by Op::group<Arch>(attrs, x, y, d).
template <class Op>
struct Groups {
  template <class Arch>
  static void run(const KernelArgs& args, const Region& region) noexcept {
    const std::int64_t d = args.out.dim(-1);
    for (std::int64_t r = region.row0; r < region.row1; ++r) {
      for (std::int64_t c = region.col0; c < region.col1; c += d)
        Op::template group<Arch>(*args.attrs, floats(args.in[0], r, c), floats(args.out, r, c), d);
    }
  }
  static constexpr auto kRows = rows_of<Rows>([]<class Arch>() -> KernelFn { return run<Arch>; });

  static std::optional<Kernel> find(FeatureSet has, const Graph&, const Node& node) {
    return with_row(node.op->name, kRows, has, {.granule = node.spec.shape.last()});
  }
};

struct GaussianTopK {
  template <class Arch>
  static void group(const Attrs& attrs, const float* x, float* y, std::int64_t d) noexcept {
    row_kernels<Arch>().gaussian_top_k(x, y, d, attrs.as<GaussianTopKAttrs>().deviations);
  }
};
struct LayerNorm {
  template <class Arch>
  static void group(const Attrs& attrs, const float* x, float* y, std::int64_t d) noexcept {
    row_kernels<Arch>().layer_norm(x, y, d, attrs.as<LayerNormAttrs>().eps);
  }
};
struct Softmax {
  template <class Arch>
  static void group(const Attrs&, const float* x, float* y, std::int64_t d) noexcept {
    row_kernels<Arch>().softmax(x, y, d);
  }
};
struct NormalizeSum {
  template <class Arch>
  static void group(const Attrs& attrs, const float* x, float* y, std::int64_t d) noexcept {
    row_kernels<Arch>().normalize_sum(x, y, d, attrs.as<NormalizeSumAttrs>().min);
  }
};

template <class Arch>
void run_weighted_sum(const KernelArgs& args, const Region& region) noexcept {
  const View &x = args.in[0], &weights = args.in[1];
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    row_kernels<Arch>().weighted_sum(floats(x, r, region.col0), x.dim(-1),
                                     weights.row<const float>(r), weights.cols(),
                                     floats(args.out, r, region.col0), region.col1 - region.col0);
  }
}

constexpr auto kWeightedSumRows =
    rows_of<Rows>([]<class Arch>() -> KernelFn { return run_weighted_sum<Arch>; });

std::optional<Kernel> find_weighted_sum(FeatureSet has, const Graph&, const Node&) {
  return with_row("weighted_sum", kWeightedSumRows, has, {.granule = kElementwiseGranule});
}

}  // namespace

extern const CpuOp kCpuGaussianTopK{&kGaussianTopK, Groups<GaussianTopK>::find};
extern const CpuOp kCpuLayerNorm{&kLayerNorm, Groups<LayerNorm>::find};
extern const CpuOp kCpuNormalizeSum{&kNormalizeSum, Groups<NormalizeSum>::find};
extern const CpuOp kCpuSoftmax{&kSoftmax, Groups<Softmax>::find};
extern const CpuOp kCpuWeightedSum{&kWeightedSum, find_weighted_sum};

}  // namespace weft::cpu
