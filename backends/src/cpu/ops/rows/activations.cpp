// Activations of one input: exp, gelu, gelu_erf, relu, sigmoid, softplus, sqrt, tanh, xielu; and
// clamp.

#include "cpu/kernels/rows/activations.h"

#include "weft/ops/elementwise/clamp.h"
#include "weft/ops/elementwise/exp.h"
#include "weft/ops/elementwise/gelu.h"
#include "weft/ops/elementwise/gelu_erf.h"
#include "weft/ops/elementwise/relu.h"
#include "weft/ops/elementwise/sigmoid.h"
#include "weft/ops/elementwise/softplus.h"
#include "weft/ops/elementwise/sqrt.h"
#include "weft/ops/elementwise/tanh.h"
#include "weft/ops/elementwise/xielu.h"

#include "cpu/ops/rows/binary.h"

namespace weft::cpu {
namespace {

template <class Arch>
const ActivationKernels& activations() noexcept {
  static const ActivationKernels kKernels = Activations<Arch>::run();
  return kKernels;
}

// One op, given by its kernel.
template <ActivationKernels::Fn ActivationKernels::*kKernel>
struct Activation {
  template <class Arch>
  static void run(const KernelArgs& args, const Region& region) noexcept {
    const auto row = activations<Arch>().*kKernel;
    for (std::int64_t r = region.row0; r < region.row1; ++r) {
      row(floats(args.in[0], r, region.col0), floats(args.out, r, region.col0),
          region.col1 - region.col0);
    }
  }
  static constexpr auto kRows =
      rows_of<Activations>([]<class Arch>() -> KernelFn { return run<Arch>; });

  static std::optional<Kernel> find(FeatureSet has, const Graph&, const Node& node) {
    return with_row(node.op->name, kRows, has, {.granule = kElementwiseGranule});
  }
};

template <class Arch>
void run_clamp(const KernelArgs& args, const Region& region) noexcept {
  const auto& attrs = args.attrs->as<ClampAttrs>();
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    activations<Arch>().clamp(floats(args.in[0], r, region.col0), attrs.low, attrs.high,
                              floats(args.out, r, region.col0), region.col1 - region.col0);
  }
}

template <class Arch>
void run_xielu(const KernelArgs& args, const Region& region) noexcept {
  const auto& a = args.attrs->as<XieluAttrs>();
  const Xielu attrs{a.positive, a.negative, a.beta, a.limit};
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    activations<Arch>().xielu(floats(args.in[0], r, region.col0), attrs,
                              floats(args.out, r, region.col0), region.col1 - region.col0);
  }
}

constexpr auto kClampRows =
    rows_of<Activations>([]<class Arch>() -> KernelFn { return run_clamp<Arch>; });
constexpr auto kXieluRows =
    rows_of<Activations>([]<class Arch>() -> KernelFn { return run_xielu<Arch>; });

std::optional<Kernel> find_clamp(FeatureSet has, const Graph&, const Node&) {
  return with_row("clamp", kClampRows, has, {.granule = kElementwiseGranule});
}
std::optional<Kernel> find_xielu(FeatureSet has, const Graph&, const Node&) {
  return with_row("xielu", kXieluRows, has, {.granule = kElementwiseGranule});
}

}  // namespace

extern const CpuOp kCpuClamp{&kClamp, find_clamp};
extern const CpuOp kCpuExp{&kExp, Activation<&ActivationKernels::exp>::find};
extern const CpuOp kCpuGelu{&kGelu, Activation<&ActivationKernels::gelu>::find};
extern const CpuOp kCpuGeluErf{&kGeluErf, Activation<&ActivationKernels::gelu_erf>::find};
extern const CpuOp kCpuRelu{&kRelu, Activation<&ActivationKernels::relu>::find};
extern const CpuOp kCpuSigmoid{&kSigmoid, Activation<&ActivationKernels::sigmoid>::find};
extern const CpuOp kCpuSoftplus{&kSoftplus, Activation<&ActivationKernels::softplus>::find};
extern const CpuOp kCpuSqrt{&kSqrt, Activation<&ActivationKernels::sqrt>::find};
extern const CpuOp kCpuTanh{&kTanh, Activation<&ActivationKernels::tanh>::find};
extern const CpuOp kCpuXielu{&kXielu, find_xielu};

}  // namespace weft::cpu
