#include "weft/ops/apply_op.h"

#include <algorithm>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/text.h"
#include "weft/ops/all_ops.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/norms/layer_norm.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/rows/views.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

using Inputs = std::span<const Tensor>;
using Values = std::span<const NamedAttr>;

// A function of several ops, for at least so many inputs: with fewer, the op of this name is meant.
struct Composite {
  OpSignature signature;
  std::size_t min_inputs;
  Tensor (*apply)(Inputs in, Values values, SourceLine where);
};

struct HeadsAttrs {
  std::int64_t n_heads = 0;
  static constexpr auto fields() { return std::tuple{field("n_heads", &HeadsAttrs::n_heads)}; }
};

template <class T>
T read(std::string_view function, Values values, SourceLine where) {
  const auto reword = [&](std::string_view message) {
    return fmt::format("{}: {} ({})", function, message, to_string(where));
  };
  return reword_errors<ValueError>(reword,
                                   [&] { return kAttrsType<T>.make(values).template as<T>(); });
}

Tensor weighted_rms_norm(Inputs in, Values values, SourceLine where) {
  return rms_norm(in[0], in[1], read<RmsNormAttrs>("rms_norm", values, where).eps, where);
}

Tensor weighted_layer_norm(Inputs in, Values values, SourceLine where) {
  const float eps = read<LayerNormAttrs>("layer_norm", values, where).eps;
  const std::string name(named_after(in[1]));
  Tensor y = add_node(kMul, {layer_norm(in[0], eps, where), in[1]}, {}, where, name);
  return in.size() > 2 && in[2] ? add(y, in[2], where) : y;
}

Tensor split(Inputs in, Values values, SourceLine where) {
  return split_heads(in[0], read<HeadsAttrs>("split_heads", values, where).n_heads, where);
}

Tensor merge(Inputs in, Values values, SourceLine where) {
  read<NoAttrs>("merge_heads", values, where);
  return merge_heads(in[0], where);
}

constexpr OpInput kX[] = {{"x"}};
constexpr OpInput kWeighted[] = {{"x"}, {.name = "w", .optional = true}};
constexpr OpInput kBiased[] = {
    {"x"}, {.name = "w", .optional = true}, {.name = "bias", .optional = true}};

const Composite kComposites[] = {
    {{"layer_norm", kBiased, false, &kAttrsType<LayerNormAttrs>}, 2, weighted_layer_norm},
    {{"merge_heads", kX, false, &kAttrsType<NoAttrs>}, 1, merge},
    {{"rms_norm", kWeighted, false, &kAttrsType<RmsNormAttrs>}, 2, weighted_rms_norm},
    {{"split_heads", kX, false, &kAttrsType<HeadsAttrs>}, 1, split}};

[[noreturn]] void refuse_op(std::string_view name, SourceLine where) {
  std::vector<std::string_view> known;
  for (const OpSignature& s : op_signatures()) known.push_back(s.name);
  fail<UnsupportedError>("no op '{}'{} ({})", printable(name.substr(0, 64)),
                         nearest_known(name.substr(0, 64), known), to_string(where));
}

}  // namespace

std::vector<OpSignature> op_signatures() {
  std::vector<OpSignature> all;
  for (const Composite& c : kComposites) all.push_back(c.signature);
  for (const OpDef* op : all_ops()) {
    if (op->collective) continue;  // added by the pass that divides a graph among ranks
    if (std::ranges::find(all, op->name, &OpSignature::name) == all.end())
      all.push_back({op->name, op->inputs, op->variadic, op->attrs});
  }
  std::ranges::sort(all, {}, &OpSignature::name);
  return all;
}

Tensor apply_op(std::string_view name, std::span<const Tensor> inputs,
                std::span<const NamedAttr> attrs, SourceLine where) {
  // An absent weight of a norm makes it the plain op.
  const bool is_composite = std::ranges::any_of(
      kComposites, [&](const Composite& c) { return c.signature.name == name; });
  while (is_composite && !inputs.empty() && !inputs.back())
    inputs = inputs.first(inputs.size() - 1);
  for (const Composite& c : kComposites) {
    const OpSignature& s = c.signature;
    if (s.name == name && inputs.size() >= c.min_inputs && inputs.size() <= s.inputs.size())
      return c.apply(inputs, attrs, where);
  }
  const OpDef* const op = find_op(name);
  if (!op || op->collective) refuse_op(name, where);
  const auto reword = [&](std::string_view message) {
    return fmt::format("{}: {} ({})", name, message, to_string(where));
  };
  const Attrs made = reword_errors<ValueError>(reword, [&] { return op->attrs->make(attrs); });
  return add_node(*op, inputs, made, where);
}

}  // namespace weft
