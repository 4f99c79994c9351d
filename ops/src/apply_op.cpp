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

// A function of several ops, and whether these inputs are its.
struct Composite {
  std::string_view name;
  std::size_t min_inputs, max_inputs;
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

constexpr Composite kComposites[] = {{"rms_norm", 2, 2, weighted_rms_norm},
                                     {"layer_norm", 2, 3, weighted_layer_norm},
                                     {"split_heads", 1, 1, split},
                                     {"merge_heads", 1, 1, merge}};

[[noreturn]] void refuse_op(std::string_view name, SourceLine where) {
  std::vector<std::string_view> known;
  for (const OpDef* op : all_ops()) known.push_back(op->name);
  for (const Composite& c : kComposites) {
    if (std::ranges::find(known, c.name) == known.end()) known.push_back(c.name);
  }
  fail<UnsupportedError>("no op '{}'{} ({})", printable(name.substr(0, 64)),
                         nearest_known(name.substr(0, 64), known), to_string(where));
}

}  // namespace

Tensor apply_op(std::string_view name, std::span<const Tensor> inputs,
                std::span<const NamedAttr> attrs, SourceLine where) {
  for (const Composite& c : kComposites) {
    if (c.name == name && inputs.size() >= c.min_inputs && inputs.size() <= c.max_inputs)
      return c.apply(inputs, attrs, where);
  }
  const OpDef* const op = find_op(name);
  if (!op) refuse_op(name, where);
  const auto reword = [&](std::string_view message) {
    return fmt::format("{}: {} ({})", name, message, to_string(where));
  };
  const Attrs made = reword_errors<ValueError>(reword, [&] { return op->attrs->make(attrs); });
  return add_node(*op, inputs, made, where);
}

}  // namespace weft
