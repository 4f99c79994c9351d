#include "cpu/ops/projection.h"

#include <algorithm>
#include <vector>

#include "weft/ops/formats/panels.h"
#include "weft/ops/formats/q8a.h"

namespace weft::cpu {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool can_project(const TensorSpec& x, const TensorSpec& w, Isa isa) {
  if (w.dtype.is_panels() && !has_panel_row(x.dtype, w.dtype.plain(), isa)) return false;
  const DType plain = w.dtype.plain();
  return x.dtype == q8a ? has_integer_row(plain) : x.dtype == f32 && has_weight_kernels(plain);
}

std::string_view projection_row(std::string_view op, const TensorSpec& x,
                                std::span<const TensorSpec> weights, Isa isa) {
  std::vector<std::string> names;
  Isa used = Isa::sse2;
  for (const TensorSpec& w : weights) {
    const std::string name = lower(w.dtype.name());
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    used = std::max(used, weight_row_isa(w.dtype.plain(), isa));
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

void project(Isa isa, const View& x, const View& w, const LinearArgs& args) noexcept {
  const WeightKernels& kernels = weight_kernels(w.dtype.plain(), isa);
  LinearArgs rest = args;  // of columns: what does not lie in panels
  if (w.dtype.is_panels()) {
    LinearArgs panels = args;
    panels.col1 = std::min(args.col1, w.rows() / kPanelRows * kPanelRows);
    rest.col0 = std::max(args.col0, panels.col1);
    if (panels.col0 < panels.col1)
      (x.dtype == f32 ? kernels.panels_from_f32 : kernels.panels_from_q8a)(panels);
  }
  if (rest.col0 < rest.col1) (x.dtype == f32 ? kernels.from_f32 : kernels.from_q8a)(rest);
}

std::int64_t projection_scratch(const TensorSpec& x, std::span<const TensorSpec> weights) {
  const auto in_panels = [](const TensorSpec& w) { return w.dtype.is_panels(); };
  const bool panels = std::ranges::any_of(weights, in_panels);
  return std::max(kLinearScratch, panels ? panels_scratch(x.shape.rows().bound) : 0);
}

}  // namespace weft::cpu
