#include "weft/adapters/control_vector.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/mapped_file.h"
#include "weft/files/tensor_values.h"
#include "weft/graph/layer_path.h"
#include "weft/graph/pass.h"
#include "weft/ops/elementwise/add.h"

#include "adapter_values.h"

namespace weft {
namespace {

using namespace adapters;

constexpr std::string_view kPrefix = "direction.", kWeight = "control_vector";

// The layer that a tensor is for.
std::int64_t layer_of(const Checkpoint& file, std::string_view name, std::int64_t n_layers) {
  std::int64_t layer = -1;
  const char* const end = name.data() + name.size();
  bool good = name.starts_with(kPrefix);
  if (good) {
    const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, layer);
    good = error == std::errc() && stop == end;
  }
  if (!good)
    fail<FormatError>("{}: tensor '{}' must be 'direction.N'", printable_path(file.path()),
                      printable(name));
  if (layer < 1 || layer >= n_layers)
    fail<FormatError>("{}: tensor '{}': the layer must be 1..{}, as the model has {} layers",
                      printable_path(file.path()), printable(name), n_layers - 1, n_layers);
  return layer;
}

void check_range(const std::optional<ControlLayers>& layers, std::int64_t n_layers) {
  if (!layers) return;
  if (layers->first < 0 || layers->first > layers->last || layers->last > n_layers)
    fail<ValueError>(
        "layers of control vectors must be 0 <= first <= last <= {}, got first {}, last {}",
        n_layers, layers->first, layers->last);
}

using Directions = std::map<std::int64_t, std::vector<float>>;

// The sizes that the directions must fit.
struct Sizes {
  std::string_view architecture;
  std::int64_t n_layers = 0, n_embd = 0;
};

// Directions of another architecture may have the same width, but mean nothing here.
void expect_architecture(const Checkpoint& file, std::string_view architecture) {
  constexpr std::string_view kHint = "controlvector.model_hint";
  if (file.find(kHint)) expect_text(file, kHint, architecture, "a control vector of this model");
}

// Returns whether the file has a direction of one of the layers.
bool add_file(const ControlVectorFile& about, const std::optional<ControlLayers>& layers,
              const Sizes& model, Directions& sums) {
  const Checkpoint file = open_adapter(about.path);
  expect_text(file, "general.architecture", "controlvector", "a control vector");
  expect_architecture(file, model.architecture);
  if (file.tensors().empty())
    fail<FormatError>("{}: the control vector has no tensors", printable_path(file.path()));
  bool used = false;
  for (const CheckpointTensor& tensor : file.tensors()) {
    const std::int64_t layer = layer_of(file, tensor.name, model.n_layers);
    if (tensor.spec.shape != Shape{model.n_embd})
      fail<ShapeError>("{}: tensor '{}' must be [{}], as wide as the model, got {}",
                       printable_path(file.path()), printable(tensor.name), model.n_embd,
                       to_string(tensor.spec.shape));
    check_values(file, tensor);
    if (layers && (layer < layers->first || layer > layers->last)) continue;
    used = true;
    const std::vector<float> values = values_of(tensor);
    std::vector<float>& sum = sums[layer];
    sum.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) sum[i] += about.scale * values[i];
    for (const float v : sum) {
      if (!std::isfinite(v))
        fail<ValueError>("{}: tensor '{}' is not finite when it is multiplied by {}",
                         printable_path(file.path()), printable(tensor.name), about.scale);
    }
  }
  return used;
}

}  // namespace

ControlVector::ControlVector(std::span<const ControlVectorFile> files,
                             const std::optional<ControlLayers>& layers, const Checkpoint& model,
                             std::int64_t n_layers, std::int64_t n_embd)
    : path_(files.front().path), width_(n_embd) {
  check_range(layers, n_layers);
  const Sizes sizes{model.find_string("general.architecture").value_or(""), n_layers, n_embd};
  Directions sums;
  for (const ControlVectorFile& file : files)
    if (!add_file(file, layers, sizes, sums)) unused_.push_back(file.path);
  GgufWriter writer;
  for (const auto& [layer, values] : sums) {
    layers_.insert(layer);
    writer.add_tensor(layer_path(layer, kWeight), {f32, {n_embd}},
                      std::as_bytes(std::span(values)));
  }
  sums_ = Checkpoint::parse(MappedFile::anonymous(writer.to_bytes()), path_);
}

std::vector<AddedTensor> ControlVector::tensors() const {
  std::vector<AddedTensor> all;
  for (const CheckpointTensor& tensor : sums_->tensors())
    all.push_back({std::string(tensor.name), &*sums_, &tensor});
  return all;
}

namespace {

// The output of a layer: its only node of this form that is read outside of it.
NodeId end_of_layer(const Graph& graph, const NodeUsers& users, std::int64_t layer,
                    const TensorSpec& spec, const std::string& file) {
  std::vector<NodeId> ends;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.kind != NodeKind::op || parse_layer_path(node.path).layer != layer) continue;
    if (node.spec != spec) continue;
    const auto inside = [&](NodeId user) {
      return parse_layer_path(graph[user].path).layer == layer;
    };
    if (!std::ranges::all_of(users[id], inside)) ends.push_back(id);
  }
  if (ends.size() == 1) return ends.front();
  fail<UnsupportedError>(
      "{}: control vectors need layers that return one residual stream; layer {} of this model "
      "returns {}",
      printable_path(file), layer, ends.size());
}

}  // namespace

Graph add_control_vector(const Graph& graph, const ControlVector& vector) {
  const auto users = graph.users();
  const Dim tokens = graph[graph.find("tokens")].spec.shape[0];
  std::map<NodeId, std::int64_t> ends;
  for (const std::int64_t layer : vector.layers())
    ends.emplace(end_of_layer(graph, users, layer, {f32, {tokens, vector.width()}}, vector.path()),
                 layer);
  Rewriter rewriter(graph, "control_vector");
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Tensor h = rewriter.copy(id);
    const auto end = ends.find(id);
    if (end == ends.end()) continue;
    const std::string name = layer_path(end->second, kWeight);
    const Tensor direction = h.graph().weight(name, {f32, {vector.width()}});
    rewriter.map_to(id, rewriter.insert(kAdd, {{h, direction}}, {},
                                        layer_path(end->second, "controlled"), graph[id].where));
  }
  return rewriter.finish();
}

}  // namespace weft
