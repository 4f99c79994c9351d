#include "cpu/ops/projection.h"

#include <algorithm>
#include <vector>

#include "weft/ops/formats/q8a.h"

namespace weft::cpu {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool can_project(const TensorSpec& x, const TensorSpec& w) {
  return x.dtype == q8a ? has_integer_row(w.dtype) : x.dtype == f32 && has_weight_kernels(w.dtype);
}

std::string_view projection_row(std::string_view op, const TensorSpec& x,
                                std::span<const TensorSpec> weights, Isa isa) {
  std::vector<std::string> names;
  Isa used = Isa::sse2;
  for (const TensorSpec& w : weights) {
    const std::string name = lower(w.dtype.name());
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    used = std::max(used, weight_row_isa(w.dtype, isa));
  }
  std::string what = std::string(op) + " " + lower(x.dtype.name()) + " x ";
  for (std::size_t i = 0; i < names.size(); ++i) what += (i ? "+" : "") + names[i];
  return row_name(what, used);
}

LinearArgs projection_args(const View& x, const View& w, std::span<std::byte> scratch) {
  return {.x = x.data,
          .x_stride = x.row_stride,
          .w = w.data,
          .w_stride = w.row_stride,
          .k = x.cols(),
          .scratch = scratch.data()};
}

void project(Isa isa, DType x, DType w, const LinearArgs& args) noexcept {
  const WeightKernels kernels = weight_kernels(w, isa);
  (x == f32 ? kernels.from_f32 : kernels.from_q8a)(args);
}

}  // namespace weft::cpu
