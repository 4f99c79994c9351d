#include "support/eval.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "weft/base/error.h"
#include "weft/ops/formats/format.h"

namespace weft::test {
namespace {

constexpr std::size_t kAlign = 64;

View view_at(const TensorSpec& spec, const Extents& extents) {
  View view{.dtype = spec.dtype, .n_dims = spec.shape.n_dims(), .row_stride = spec.row_bytes()};
  for (int i = 0; i < view.n_dims; ++i) {
    view.dims[static_cast<std::size_t>(i)] = spec.shape[i].extent(extents);
  }
  return view;
}

const Format& format_of(const View& view, std::string_view path) {
  const Format* format =
      view.dtype == i32 ? nullptr : find_format(view.dtype);  // its codec is for files
  if (!format) fail<ValueError>("'{}' has no float values: it is {}", path, view.dtype.name());
  return *format;
}

}  // namespace

Evaluator::Evaluator(const Graph& graph, EvaluatorOptions options)
    : graph_(graph), options_(options), extents_(graph.bounds()), memory_(graph) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    Memory& memory = memory_[id];
    if (node.op && node.op->storage != Storage::fresh) continue;
    const std::int64_t n_rows = node.spec.shape.rows().bound;
    const std::int64_t n_bytes = node.spec.bytes() + n_rows * options.row_padding;
    const auto filling = node.kind == NodeKind::state ? std::byte{0} : std::byte{0xff};
    memory.storage.assign(static_cast<std::size_t>(n_bytes) + kAlign, filling);
    void* data = memory.storage.data();
    std::size_t space = memory.storage.size();
    memory.data =
        static_cast<std::byte*>(std::align(kAlign, static_cast<std::size_t>(n_bytes), data, space));
  }
}

Evaluator& Evaluator::extent(std::string_view variable, std::int64_t n) {
  for (std::size_t i = 0; i < graph_.variables().size(); ++i) {
    const Variable& v = graph_.variables()[i];
    if (v.name != variable) continue;
    if (n < 0 || n > v.bound) fail<ValueError>("{} is at most {}, got {}", v.name, v.bound, n);
    extents_[i] = n;
    return *this;
  }
  fail<ValueError>("the graph has no variable '{}'", variable);
}

NodeId Evaluator::node(std::string_view path) const {
  for (const Graph::Output& output : graph_.outputs()) {
    if (output.name == path) return output.node;
  }
  const NodeId id = graph_.find(path);
  if (id == kNoNode) fail<ValueError>("the graph has no node '{}'", path);
  return id;
}

View Evaluator::view(NodeId id) const {
  const Node& node = graph_[id];
  View view = view_at(node.spec, extents_);
  if (!node.op || node.op->storage == Storage::fresh) {
    view.data = memory_[id].data;
    if (!node.spec.dtype.layout()) view.row_stride += options_.row_padding;
    return view;
  }
  const View whole = this->view(node.inputs[0]);
  const bool shifted = node.op->storage == Storage::view && node.op->view_col;
  const std::int64_t col = shifted ? node.op->view_col(node.attrs, graph_.input_specs(node)) : 0;
  view.data = whole.data + view.dtype.bytes(col);
  view.row_stride = whole.row_stride;
  return view;
}

std::vector<View> Evaluator::inputs(NodeId id) const {
  std::vector<View> views;
  for (const NodeId input : graph_[id].inputs) {
    views.push_back(input == kNoNode ? View{} : view(input));
  }
  return views;
}

View Evaluator::leaf(std::string_view path, std::size_t n_values) const {
  const NodeId id = graph_.find(path);
  if (id == kNoNode || graph_[id].op)
    fail<ValueError>("'{}' is not an input, weight or state", path);
  const View to = view(id);
  const std::int64_t n = to.rows() * to.cols();
  if (static_cast<std::int64_t>(n_values) != n) {
    fail<ValueError>("'{}' takes {} values, got {}", path, n, n_values);
  }
  return to;
}

Evaluator& Evaluator::floats(std::string_view path, std::span<const float> values) {
  const View to = leaf(path, values.size());
  const Format& format = format_of(to, path);
  if (!format.encode) fail<ValueError>("'{}': {} cannot be encoded", path, to.dtype.name());
  for (std::int64_t r = 0; r < to.rows(); ++r) {
    format.encode(values.data() + r * to.cols(), to.row<std::byte>(r), to.cols());
  }
  return *this;
}

Evaluator& Evaluator::ints(std::string_view path, std::span<const std::int32_t> values) {
  if (leaf(path, values.size()).dtype != i32) fail<ValueError>("'{}' is not I32", path);
  return bytes(path, std::as_bytes(values));
}

Evaluator& Evaluator::bytes(std::string_view path, std::span<const std::byte> values) {
  const View shape = view(node(path));
  const std::int64_t row_bytes = shape.dtype.bytes(shape.cols());
  if (static_cast<std::int64_t>(values.size()) != shape.rows() * row_bytes) {
    fail<ValueError>("'{}' takes {} bytes, got {}", path, shape.rows() * row_bytes, values.size());
  }
  const View to = leaf(path, static_cast<std::size_t>(shape.rows() * shape.cols()));
  for (std::int64_t r = 0; r < to.rows() && row_bytes > 0; ++r) {
    std::memcpy(to.row<std::byte>(r), values.data() + r * row_bytes,
                static_cast<std::size_t>(row_bytes));
  }
  return *this;
}

Evaluator& Evaluator::run() {
  for (NodeId id = 0; id < graph_.size(); ++id) {
    const Node& node = graph_[id];
    if (node.op && node.op->reference) node.op->reference(node.attrs, inputs(id), view(id));
  }
  return *this;
}

std::vector<float> Evaluator::floats(std::string_view path) const {
  const View from = view(node(path));
  const Format& format = format_of(from, path);
  std::vector<float> values(static_cast<std::size_t>(from.rows() * from.cols()));
  for (std::int64_t r = 0; r < from.rows(); ++r) {
    format.decode(from.row<std::byte>(r), values.data() + r * from.cols(), from.cols());
  }
  return values;
}

std::vector<std::byte> Evaluator::bytes(std::string_view path) const {
  const View from = view(node(path));
  std::vector<std::byte> values;
  for (std::int64_t r = 0; r < from.rows(); ++r) {
    const std::byte* row = from.row<std::byte>(r);
    values.insert(values.end(), row, row + from.dtype.bytes(from.cols()));
  }
  return values;
}

std::vector<float> Evaluator::bounds(std::string_view path) const {
  const NodeId id = node(path);
  const Node& node = graph_[id];
  if (!node.op) return update_bounds(id);
  if (!node.op->bound) {
    std::vector<float> values = floats(path);
    for (float& v : values) v = four_ulps(v);
    return values;
  }
  View out = view(id);
  std::vector<float> values(static_cast<std::size_t>(out.rows() * out.cols()));
  out.dtype = f32;
  out.data = reinterpret_cast<std::byte*>(values.data());
  out.row_stride = out.cols() * static_cast<std::int64_t>(sizeof(float));
  node.op->bound(node.attrs, inputs(id), out);
  return values;
}

std::vector<float> Evaluator::update_bounds(NodeId state) const {
  for (NodeId id = 0; id < graph_.size(); ++id) {
    const Node& node = graph_[id];
    if (!node.op || node.op->updates < 0) continue;
    if (node.inputs[static_cast<std::size_t>(node.op->updates)] != state) continue;
    View out = view(state);
    std::vector<float> values(static_cast<std::size_t>(out.rows() * out.cols()));
    out.data = reinterpret_cast<std::byte*>(values.data());
    out.row_stride = out.cols() * static_cast<std::int64_t>(sizeof(float));
    if (node.op->update_bound) node.op->update_bound(node.attrs, inputs(id), out);
    return values;
  }
  fail<ValueError>("'{}' is not computed", graph_[state].path);
}

float four_ulps(float value) {
  const float magnitude = std::fabs(value);
  return 4 * (std::nextafter(magnitude, std::numeric_limits<float>::infinity()) - magnitude);
}

std::vector<float> noise(std::size_t n, std::uint32_t seed) {
  std::vector<float> values(n);
  std::uint32_t state = seed * 2654435761u + 1;
  for (float& v : values) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(static_cast<std::int32_t>(state) >> 8) * 0x1p-23f;
  }
  return values;
}

}  // namespace weft::test
