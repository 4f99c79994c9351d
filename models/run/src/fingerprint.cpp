// A hash of what the keys and values of a session depend on.
#include <algorithm>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

#include "weft/base/checksum.h"
#include "weft/files/checkpoint.h"
#include "weft/run/saved_sequence.h"

namespace weft {
namespace {

constexpr std::size_t kSample = 256;  // bytes at either end of a tensor

class Hash {
 public:
  void add(std::span<const std::byte> bytes) { sum_.add(bytes); }
  void add(std::string_view text) {
    add(text.size());
    add(std::as_bytes(std::span(text)));
  }
  void add(const MetaValue& value) {
    std::visit([&](const auto& v) { add_value(v); }, value.value);
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void add(T value) { add(std::as_bytes(std::span(&value, 1))); }

  std::uint64_t value() const { return sum_.value(); }

 private:
  template <class T>
  void add_value(const T& value) {
    add(value);
  }
  void add_value(const std::shared_ptr<const MetaArray>& array) {
    add(array->size());
    std::visit(
        [&](const auto& values) {
          using T = typename std::decay_t<decltype(values)>::value_type;
          for (const T& v : values) add(v);
        },
        array->values);
  }

  Checksum sum_;
};

void add_file(const Checkpoint& file, Hash& hash) {
  for (const MetaEntry& entry : file.metadata()) {
    hash.add(entry.key);
    hash.add(entry.value);
  }
  for (const CheckpointTensor& tensor : file.tensors()) {
    hash.add(tensor.name);
    hash.add(tensor.spec.dtype.name());
    for (const Dim& dim : tensor.spec.shape) hash.add(dim.bound);
    const std::int64_t n_rows = tensor.runs.empty() ? tensor.n_rows() : 1;
    const auto first = row_sources(tensor, 0, n_rows).front().bytes;
    const auto last = row_sources(tensor, tensor.n_rows() - n_rows, tensor.n_rows()).back().bytes;
    hash.add(first.first(std::min(first.size(), kSample)));
    hash.add(last.last(std::min(last.size(), kSample)));
  }
}

// Increment it if a kernel gives other bits under the same name.
constexpr int kKernelsVersion = 2;

// Graphs of all widths give the same bits, so one of them is enough.
void add_computation(const Session& session, Hash& hash) {
  hash.add(kKernelsVersion);
  const Graph& graph = session.graph(0);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.kind == NodeKind::input) continue;
    hash.add(node.path);
    hash.add(node.spec.dtype.name());
    for (const NodeId input : node.inputs) hash.add(input);
    if (node.op) hash.add(node.op->name);
    if (node.op) hash.add(node.attrs.to_json());
  }
  for (const PlanStep& step : session.plan(0).steps) {
    hash.add(step.path);
    hash.add(step.backend);
    hash.add(step.kernel);
  }
}

}  // namespace

std::uint64_t fingerprint(const Session& session, std::int32_t sequence) {
  Hash hash;
  add_file(session.model().weights(), hash);
  add_computation(session, hash);
  for (const float scale : session.lora_scales(sequence)) hash.add(scale);
  return hash.value();
}

}  // namespace weft
