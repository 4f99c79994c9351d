#include "plugin/node_description.h"

#include <charconv>

#include "weft/base/error.h"

#include "plugin/plugin_device.h"

namespace weft::plugin {
namespace {

// Whose memory a tensor looks at.
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
  t.rank = spec.shape.rank();
  for (int i = 0; i < t.rank; ++i) t.dims[i] = spec.shape[i].bound;
  t.varies = t.rank > 0 && spec.shape[0].varies();
  t.row_stride = spec.row_bytes();
  return t;
}

// Splits {"eps":1e-05,"pairs":"halves"} as Attrs prints it: flat, names and texts without quotes.
template <class F>
void for_each_field(std::string_view json, F f) {
  json = json.substr(1, json.size() - 2);
  while (!json.empty()) {
    const std::size_t end_of_name = json.find('"', 1);
    const std::string_view name = json.substr(1, end_of_name - 1);
    json.remove_prefix(end_of_name + 2);
    const bool quoted = json.front() == '"';
    const std::size_t end = quoted ? json.find('"', 1) + 1 : std::min(json.find(','), json.size());
    f(name, quoted ? json.substr(1, end - 2) : json.substr(0, end), quoted);
    json.remove_prefix(std::min(end + 1, json.size()));
  }
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
  add_attrs(node.attrs.to_json());
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

void NodeDescription::add_attrs(const std::string& json) {
  for_each_field(json, [&](std::string_view name, std::string_view value, bool is_text) {
    weft_attr attr{};
    attr.name = texts_.emplace_back(name).c_str();
    if (is_text) {
      attr.kind = WEFT_ATTR_TEXT;
      attr.text = texts_.emplace_back(value).c_str();
    } else if (value == "true" || value == "false") {
      attr.kind = WEFT_ATTR_INTEGER;
      attr.integer = value == "true";
      attr.number = static_cast<double>(attr.integer);
    } else {
      std::from_chars(value.data(), value.data() + value.size(), attr.number);
      const auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), attr.integer);
      const bool whole = error == std::errc() && end == value.data() + value.size();
      attr.kind = whole ? WEFT_ATTR_INTEGER : WEFT_ATTR_NUMBER;
      if (!whole && attr.number > -9e18 && attr.number < 9e18)
        attr.integer = static_cast<std::int64_t>(attr.number);
    }
    attrs_.push_back(attr);
  });
}

}  // namespace weft::plugin
