#include "one_node.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/base/error.h"
#include "weft/graph/row_layout.h"
#include "weft/ops/formats/format.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kNoise = 1 << 14;  // elements, encoded once and repeated

void fill_rows(DType dtype, std::int64_t n_bytes, std::byte* to) {
  const Format* format = find_format(dtype);
  if (!format || (!format->encode && !format->encode_weighted))
    fail<UnsupportedError>("cannot make {}", dtype.name());
  std::vector<float> values(kNoise);
  std::uint32_t state = 1;
  for (float& v : values) {
    state = state * 1664525 + 1013904223;
    v = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31f;
  }
  std::vector<std::byte> encoded(static_cast<std::size_t>(dtype.bytes(kNoise)));
  if (format->encode) {
    format->encode(values.data(), encoded.data(), kNoise);
  } else {
    const std::vector<float> even(values.size(), 1.0f);
    format->encode_weighted(values.data(), even.data(), encoded.data(), kNoise);
  }
  for (std::int64_t done = 0; done < n_bytes; done += std::ssize(encoded)) {
    const auto n = static_cast<std::size_t>(std::min(std::ssize(encoded), n_bytes - done));
    std::memcpy(to + done, encoded.data(), n);
  }
}

}  // namespace

OneNode::OneNode(const Graph& graph, const Backend& backend, const std::vector<Counting>& counts)
    : graph_(graph),
      backend_(backend),
      node_(graph.outputs().front().node),
      extents_(graph.bounds()),
      memory_(graph) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.op && node.op->storage != Storage::fresh)
      fail<UnsupportedError>("'{}' has no memory", node.path);
    memory_[id] = Buffer(node.spec.bytes());
    node.op ? compute(id) : fill(id, counts);
  }
  const Node& node = graph[node_];
  kernel_ = *backend.find(graph, node);
  prepared_ = backend.prepare(graph, node, {}, failure_);
  scratch_ = Buffer(std::max<std::int64_t>(1, kernel_.scratch_bytes));
  out_ = view(node_);
  for (const NodeId id : node.inputs) {
    inputs_.push_back(id == kNoNode ? View{} : view(id));
    if (id != kNoNode && is_streamed(id)) streamed_bytes_ += graph[id].spec.bytes();
  }
  if (node.op->cost) {
    multiply_adds_ =
        node.op->cost(node.attrs, graph.input_specs(node), node.spec, extents_).multiply_adds;
  }
}

bool OneNode::is_streamed(NodeId id) const {
  const bool stays = graph_[id].kind == NodeKind::weight || graph_[id].kind == NodeKind::state;
  return stays && graph_[id].spec.shape.n_dims() > 1;
}

void OneNode::fill(NodeId id, const std::vector<Counting>& counts) {
  const TensorSpec& spec = graph_[id].spec;
  const Buffer& to = memory_[id];
  if (spec.dtype == i32) {
    const auto count = std::ranges::find(counts, graph_[id].path, &Counting::path);
    auto* const numbers = reinterpret_cast<std::int32_t*>(to.data());
    for (std::int64_t i = 0; i < spec.shape.elems() && count != counts.end(); ++i)
      numbers[i] = count->start + static_cast<std::int32_t>(i) * count->step;
  } else if (const RowLayout* layout = spec.dtype.layout()) {
    const Buffer plain(spec.bytes());
    const std::int64_t n_rows = spec.shape.elems() / spec.shape.last();
    fill_rows(spec.dtype.plain(), spec.bytes(), plain.data());
    layout->pack(spec.dtype, plain.data(), to.data(), n_rows, spec.bytes() / n_rows, 0, n_rows);
  } else {
    fill_rows(spec.dtype, spec.bytes(), to.data());
  }
}

View OneNode::view(NodeId id) const {
  const TensorSpec& spec = graph_[id].spec;
  View view{.data = memory_[id].data(),
            .dtype = spec.dtype,
            .n_dims = spec.shape.n_dims(),
            .row_stride = spec.row_bytes()};
  for (int i = 0; i < view.n_dims; ++i)
    view.dims[static_cast<std::size_t>(i)] = spec.shape[i].extent(extents_);
  return view;
}

void OneNode::compute(NodeId id) {
  const Node& node = graph_[id];
  const auto kernel = backend_.find(graph_, node);
  if (!kernel) fail<UnsupportedError>("no kernel for {} '{}'", node.op->name, node.path);
  const Buffer scratch(std::max<std::int64_t>(1, kernel->scratch_bytes));
  std::vector<View> inputs;
  for (const NodeId input : node.inputs) inputs.push_back(input == kNoNode ? View{} : view(input));
  const View out = view(id);
  const auto prepared = backend_.prepare(graph_, node, {}, failure_);
  kernel->run({.op = node.op,
               .attrs = &node.attrs,
               .in = inputs,
               .out = out,
               .scratch = scratch.bytes(),
               .prepared = prepared.get()},
              Region::whole(out));
}

void OneNode::prepare(const Backend& backend) {
  prepared_ = backend.prepare(graph_, graph_[node_], {}, failure_);
}

void OneNode::make_cold(std::span<std::byte> memory) {
  copies_.clear();
  std::size_t used = 0;
  while (true) {
    Copy copy;
    for (const NodeId id : graph_[node_].inputs) {
      copy.push_back(nullptr);
      if (id == kNoNode || !is_streamed(id)) continue;
      const auto n = static_cast<std::size_t>(memory_[id].size());
      if (n > memory.size() - used) return;
      copy.back() = memory.data() + used;
      std::memcpy(copy.back(), memory_[id].data(), n);
      used = std::min(used + static_cast<std::size_t>(align_up(memory_[id].size())), memory.size());
    }
    if (std::ranges::count(copy, nullptr) == std::ssize(copy)) return;
    copies_.push_back(std::move(copy));
  }
}

void OneNode::run() {
  if (!copies_.empty()) {
    const Copy& copy = copies_[next_++ % copies_.size()];
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (copy[i] != nullptr) inputs_[i].data = copy[i];
    }
  }
  const Node& node = graph_[node_];
  kernel_.run({.op = node.op,
               .attrs = &node.attrs,
               .in = inputs_,
               .out = out_,
               .scratch = scratch_.bytes(),
               .prepared = prepared_.get()},
              Region::whole(out_));
}

}  // namespace weft::bench
