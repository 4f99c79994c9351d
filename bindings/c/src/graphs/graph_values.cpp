// Types, shapes and attributes of graphs, as C has them.

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/ops/apply_op.h"
#include "weft/ops/formats/format.h"

#include "border/arguments.h"
#include "border/values.h"
#include "graphs/graph_objects.h"

namespace weft::c_api {

void CallbackScope::check(Kind kind) const {
  if (std::this_thread::get_id() != thread_ || __builtin_frame_address(0) > frame_)
    fail<HandleError>("the callback that the {} belongs to has ended", to_string(kind));
}

Tensor GraphObject::tensor(weft_tensor_id id, std::string_view name) const {
  if (id == kNoNode) return {};
  if (id < 0 || id >= graph->size())
    fail<ValueError>("`{}`: the graph has {} nodes, got {}", name, graph->size(), id);
  return graph->tensor(id);
}

Tensor present_tensor(const GraphObject& graph, weft_tensor_id id, std::string_view name) {
  const Tensor tensor = graph.tensor(id, name);
  if (!tensor) fail<ValueError>("`{}` is -1", name);
  return tensor;
}

std::vector<Tensor> GraphObject::tensors(const weft_tensor_id* ids, std::size_t n) const {
  std::vector<Tensor> all;
  for (const weft_tensor_id id : array(ids, n, "inputs")) all.push_back(tensor(id, "inputs"));
  return all;
}

DType dtype_of(const char* name) {
  const std::string_view wanted = required_name(name, "dtype");
  if (wanted == i32.name()) return i32;
  if (const Format* format = find_format_by_name(wanted)) return format->dtype;
  std::string known;
  for (const Format* format : all_formats())
    known += (known.empty() ? "" : ", ") + std::string(format->dtype.name());
  fail<DTypeError>("unknown type '{}' (known: I32, {})", printable(wanted), known);
}

Shape shape_of(const weft_dim* dims, std::size_t rank, const Graph& graph) {
  if (rank > kMaxDims)
    fail<ValueError>("a shape has at most {} dimensions, got {}", kMaxDims, rank);
  const auto n_variables = std::ssize(graph.variables());
  std::vector<Dim> all;
  for (const weft_dim& dim : array(dims, rank, "dims")) {
    check_reserved(dim.reserved, "weft_dim");
    if (dim.variable < 0 || dim.variable > n_variables)
      fail<ValueError>("`dims`: the graph has {} variables, got number {}", n_variables,
                       dim.variable);
    if (dim.bound < 0) fail<ShapeError>("a dimension must not be negative, got {}", dim.bound);
    all.push_back(dim.variable == 0 ? Dim(dim.bound) : Dim(dim.bound, dim.variable - 1));
  }
  return Shape(std::span<const Dim>(all));
}

Shape fixed_shape(const std::int64_t* dims, std::size_t rank) {
  if (rank > kMaxDims)
    fail<ValueError>("a shape has at most {} dimensions, got {}", kMaxDims, rank);
  const auto all = array(dims, rank, "dims");
  return Shape(std::vector<Dim>(all.begin(), all.end()));
}

std::vector<weft_dim> dims_of(const Shape& shape) {
  std::vector<weft_dim> dims;
  for (const Dim& dim : shape)
    dims.push_back({.bound = dim.bound, .variable = dim.varies() ? dim.variable + 1 : 0});
  return dims;
}

weft_value value_of(const char* name, const AttrValue& value, const char* text) {
  weft_value v{.name = name, .text = text};
  std::visit(
      [&]<class T>(const T& x) {
        if constexpr (std::is_same_v<T, bool>) {
          v.kind = WEFT_VALUE_BOOL, v.integer = x;
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          v.kind = WEFT_VALUE_INTEGER, v.integer = x, v.number = static_cast<double>(x);
        } else if constexpr (std::is_floating_point_v<T>) {
          v.kind = WEFT_VALUE_NUMBER, v.number = static_cast<double>(x);
        } else {
          v.kind = WEFT_VALUE_TEXT;
        }
      },
      value);
  return v;
}

std::vector<NamedAttr> attrs_of(const weft_value* values, std::size_t n) {
  std::vector<NamedAttr> attrs;
  for (const NamedValue& v : named_values(values, n, "attributes"))
    attrs.push_back({v.name, std::visit([](auto value) { return AttrValue(value); }, v.value)});
  return attrs;
}

Tensor apply(GraphObject& graph, const char* op, std::span<const Tensor> inputs,
             std::span<const NamedAttr> attrs) {
  const std::string_view name = required_name(op, "op");
  const OpDef* const custom = find_custom_op(name);
  if (!custom) return apply_op(name, inputs, attrs, graph.where);
  return graph.graph->add(*custom, inputs, custom_attrs(*custom, attrs), graph.where);
}

}  // namespace weft::c_api
