#include "plugin/node_description.h"

#include <cmath>

#include "weft/base/error.h"

#include "plugin/plugin_device.h"

namespace weft::plugin {
namespace {

// The kind of the node whose memory a tensor looks at.
NodeKind memory_kind(const Graph& graph, NodeId id) {
  while (graph[id].op && graph[id].op->storage != Storage::fresh) id = graph[id].inputs[0];
  return graph[id].kind;
}

weft_tensor tensor_of(const TensorSpec& spec, std::string_view type) {
  weft_tensor t{};
  t.struct_size = sizeof(weft_tensor);
  t.type = type.data();  // names of types are literals
  t.block_elems = spec.dtype.block_elems();
  t.block_bytes = spec.dtype.block_bytes();
  t.rank = spec.shape.n_dims();
  for (int i = 0; i < t.rank; ++i) t.dims[i] = spec.shape[i].bound;
  t.varies = t.rank > 0 && spec.shape[0].varies();
  t.row_stride = spec.row_bytes();
  return t;
}

void set_integer(weft_attr& attr, std::int64_t value) {
  attr.kind = WEFT_ATTR_INTEGER;
  attr.integer = value;
  attr.number = static_cast<double>(value);
}

// An integer of any C++ type is passed as WEFT_ATTR_INTEGER.
void set_number(weft_attr& attr, double value) {
  constexpr double kMaxInteger = 9e18;
  attr.kind = WEFT_ATTR_NUMBER;
  attr.number = value;
  if (!(std::abs(value) < kMaxInteger)) return;
  attr.integer = static_cast<std::int64_t>(value);
  if (static_cast<double>(attr.integer) == value) attr.kind = WEFT_ATTR_INTEGER;
}

}  // namespace

NodeDescription::NodeDescription(const Graph& graph, const Node& node, const KernelArgs* args,
                                 const PluginDevice* device) {
  for (const NodeId id : node.inputs) tensors_.push_back(describe(graph, id));
  tensors_.push_back(tensor_of(node.spec, node.spec.dtype.name()));
  tensors_.back().kind = node.op->storage == Storage::state ? WEFT_STATE : WEFT_ACTIVATION;
  if (args) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) place(tensors_[i], args->in[i], device);
    place(tensors_.back(), args->out, device);
    place_scratch(args->scratch, device);
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs_.push_back(&tensors_[i]);
  add_attrs(node.attrs);
  node_.struct_size = sizeof(weft_node);
  node_.n_inputs = static_cast<std::uint32_t>(inputs_.size());
  node_.n_attrs = static_cast<std::uint32_t>(attrs_.size());
  node_.op = node.op->name.data();
  node_.path = node.path.c_str();
  node_.inputs = inputs_.data();
  node_.output = &tensors_.back();
  node_.attrs = attrs_.data();
}

weft_tensor NodeDescription::describe(const Graph& graph, NodeId id) const {
  if (id == kNoNode) {
    weft_tensor absent{};
    absent.struct_size = sizeof(weft_tensor);
    absent.type = "";
    return absent;
  }
  const TensorSpec& spec = graph[id].spec;
  weft_tensor t = tensor_of(spec, spec.dtype.name());
  const NodeKind kind = memory_kind(graph, id);
  t.kind = kind == NodeKind::weight  ? WEFT_WEIGHT
           : kind == NodeKind::state ? WEFT_STATE
                                     : WEFT_ACTIVATION;
  return t;
}

void NodeDescription::place(weft_tensor& tensor, const View& view,
                            const PluginDevice* device) const {
  if (tensor.kind == WEFT_ABSENT) return;
  tensor.row_stride = view.row_stride;
  if (!device) {
    tensor.data = view.data;
    return;
  }
  const PluginDevice::Place place = device->place_of(view.data);
  if (!place.buffer) fail<Error>("a tensor is not in the memory of the device");
  tensor.buffer = place.buffer;
  tensor.offset = place.offset;
}

void NodeDescription::place_scratch(std::span<std::byte> scratch, const PluginDevice* device) {
  if (!device) {
    node_.scratch = scratch.data();
    return;
  }
  const PluginDevice::Place place = device->place_of(scratch.data());
  node_.scratch_buffer = place.buffer;
  node_.scratch_offset = place.offset;
}

void NodeDescription::add_attrs(const Attrs& attrs) {
  attrs.for_each([&](std::string_view name, const AttrValue& value) {
    weft_attr& attr = attrs_.emplace_back();
    attr.name = texts_.emplace_back(name).c_str();
    if (const auto* text = std::get_if<std::string_view>(&value)) {
      attr.kind = WEFT_ATTR_TEXT;
      attr.text = texts_.emplace_back(*text).c_str();
    } else if (const auto* number = std::get_if<double>(&value)) {
      set_number(attr, *number);
    } else if (const auto* single = std::get_if<float>(&value)) {
      set_number(attr, *single);
    } else if (const auto* truth = std::get_if<bool>(&value)) {
      set_integer(attr, *truth);
    } else {
      set_integer(attr, std::get<std::int64_t>(value));
    }
  });
}

}  // namespace weft::plugin
