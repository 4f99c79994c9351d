#include "weft/ops/cuts.h"

namespace weft {
namespace {

// An operand has the output's shape, or is repeated for its rows, heads or elements.
std::optional<Cut> cut_of_operand(const Shape& operand, const Shape& out, const Cut& cut) {
  if (operand == out) return cut;
  const std::int64_t extent = cut.ends.back();
  const bool last = cut.axis == out.n_dims() - 1;
  if (operand.n_dims() == 1) {
    if (operand[0].bound == 1 || !last) return Cut{};
    return operand[0].bound == extent ? std::optional(cut.moved(0)) : std::nullopt;
  }
  if (operand.n_dims() != 2 || out.n_dims() != 3 || operand[0].varies()) return std::nullopt;
  if (cut.axis == 1) return operand[0].bound == extent ? std::optional(cut.moved(0)) : std::nullopt;
  return operand[1].bound == extent ? cut.moved(1) : Cut{};
}

}  // namespace

Cuts cut_elementwise(const Attrs&, Specs in, const TensorSpec& out, const Cut& cut) {
  std::vector<Cut> cuts;
  for (const TensorSpec& spec : in) {
    const auto operand = spec.present() ? cut_of_operand(spec.shape, out.shape, cut) : Cut{};
    if (!operand) return std::nullopt;
    cuts.push_back(*operand);
  }
  return cuts;
}

Cuts cut_by_heads(const Attrs&, Specs in, const TensorSpec& out, const Cut& cut) {
  if (cut.axis != 1 || out.shape.n_dims() != 3) return std::nullopt;
  std::vector<Cut> cuts;
  for (const TensorSpec& spec : in) {
    const bool heads =
        spec.present() && spec.shape.n_dims() == 3 && spec.shape[1].bound == cut.ends.back();
    cuts.push_back(heads ? cut : Cut{});
  }
  if (cuts.front().whole()) return std::nullopt;
  return cuts;
}

}  // namespace weft
