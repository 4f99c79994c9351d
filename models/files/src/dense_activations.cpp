#include "weft/files/dense_activations.h"

#include <algorithm>
#include <cmath>

#include "weft/ops/elementwise/gelu_erf.h"

namespace weft {
namespace {

double identity(double x) {
  return x;
}
double tanh_of(double x) {
  return std::tanh(x);
}
double relu_of(double x) {
  return std::max(x, 0.0);
}
double sigmoid_of(double x) {
  return 1 / (1 + std::exp(-x));
}
double silu_of(double x) {
  return x * sigmoid_of(x);
}

constexpr DenseActivation kDenseActivations[] = {
    {"identity", "torch.nn.modules.linear.Identity", identity},
    {"tanh", "torch.nn.modules.activation.Tanh", tanh_of},
    {"relu", "torch.nn.modules.activation.ReLU", relu_of},
    {"gelu", "torch.nn.modules.activation.GELU", gelu_erf_of},
    {"sigmoid", "torch.nn.modules.activation.Sigmoid", sigmoid_of},
    {"silu", "torch.nn.modules.activation.SiLU", silu_of}};

}  // namespace

std::span<const DenseActivation> dense_activations() {
  return kDenseActivations;
}

}  // namespace weft
