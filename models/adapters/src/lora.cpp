#include "weft/adapters/lora.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/gguf_writer.h"
#include "weft/files/mapped_file.h"
#include "weft/files/tensor_values.h"

#include "adapted_use.h"
#include "adapter_values.h"
#include "lora_names.h"

namespace weft {
namespace {

using namespace adapters;

constexpr std::string_view kEndings[] = {".lora_a", ".lora_b"};
constexpr double kMaxAlpha = 1e30;

// The two tensors of a weight, before their shapes are checked.
struct Pair {
  const CheckpointTensor *a = nullptr, *b = nullptr;
};

[[noreturn]] void refuse_name(const Checkpoint& file, std::string_view name) {
  if (name.ends_with("_norm.weight"))
    fail<UnsupportedError>("{}: tensor '{}' replaces a norm of the model, which is not supported",
                           printable_path(file.path()), printable(name));
  fail<FormatError>("{}: tensor '{}' must end with .lora_a or .lora_b", printable_path(file.path()),
                    printable(name));
}

// The tensors of the file by the weight that they adapt.
std::map<std::string, Pair> pairs_of(const Checkpoint& file) {
  std::map<std::string, Pair> pairs;
  for (const CheckpointTensor& tensor : file.tensors()) {
    const auto* const ending = std::ranges::find_if(
        kEndings, [&](std::string_view e) { return tensor.name.ends_with(e); });
    if (ending == std::end(kEndings)) refuse_name(file, tensor.name);
    Pair& pair = pairs[std::string(tensor.name.substr(0, tensor.name.size() - ending->size()))];
    (ending == kEndings ? pair.a : pair.b) = &tensor;
  }
  for (const auto& [name, pair] : pairs) {
    if (pair.a && pair.b) continue;
    fail<FormatError>("{}: tensor '{}{}' is missing, '{}{}' exists", printable_path(file.path()),
                      printable(name), kEndings[pair.a ? 1 : 0], printable(name),
                      kEndings[pair.a ? 0 : 1]);
  }
  return pairs;
}

// A matrix of one row may be stored as a vector.
Shape as_matrix(const Shape& shape) {
  return shape.n_dims() == 1 ? Shape{1, shape[0]} : shape;
}

// Checks a matrix and returns it with the shape that it has in graphs.
LowRankMatrix expect(const Checkpoint& file, const CheckpointTensor& tensor, const Shape& wanted,
                     const Shape& weight) {
  if (as_matrix(tensor.spec.shape) == wanted) return {&tensor, wanted};
  fail<ShapeError>("{}: tensor '{}' must be {}, because the model's tensor is {}, got {}",
                   printable_path(file.path()), printable(tensor.name), to_string(wanted),
                   to_string(weight), to_string(tensor.spec.shape));
}

LowRank fit(const Checkpoint& file, const Pair& pair, const CheckpointTensor& weight, float alpha) {
  const Shape& w = weight.spec.shape;
  const Shape a = as_matrix(pair.a->spec.shape);
  const bool table = weight.name == "token_embd.weight";
  if (w.n_dims() < 2 || w.n_dims() > 3)
    fail<UnsupportedError>(
        "{}: tensor '{}' adapts a tensor of {} dimensions, only 2 or 3 are "
        "supported",
        printable_path(file.path()), printable(pair.a->name), w.n_dims());
  const std::int64_t N = w[-2].bound, K = w[-1].bound;
  const std::int64_t R = a[table ? -1 : -2].bound;
  LowRank low{.rank = R, .u = {}, .v = {}, .v_transposed = {}};
  if (alpha != 0) low.factor = alpha / static_cast<float>(R);
  if (table) {
    low.u = expect(file, *pair.a, {N, R}, w);
    low.v_transposed = expect(file, *pair.b, {K, R}, w);
  } else if (w.n_dims() == 2) {
    low.v = expect(file, *pair.a, {R, K}, w);
    low.u = expect(file, *pair.b, {N, R}, w);
  } else {
    low.v = expect(file, *pair.a, {w[0], R, K}, w);
    low.u = expect(file, *pair.b, {w[0], N, R}, w);
  }
  return low;
}

}  // namespace

Lora Lora::open(const std::string& path, const Checkpoint& model) {
  Lora lora(open_adapter(path));
  lora.read_keys(model);
  lora.read_pairs(model);
  return lora;
}

void Lora::read_keys(const Checkpoint& model) {
  expect_text(file_, "general.type", "adapter", "an adapter");
  expect_text(file_, "adapter.type", "lora", "a LoRA");
  const auto arch = model.find_string("general.architecture").value_or("");
  expect_text(file_, "general.architecture", arch, "an adapter of this model");
  constexpr std::string_view kActivated = "adapter.alora.invocation_tokens";
  if (file_.find(kActivated))
    fail<UnsupportedError>("{}: key '{}': activated LoRAs are not supported",
                           printable_path(path()), kActivated);
  const double alpha = file_.find_float("adapter.lora.alpha").value_or(0);
  if (!(std::fabs(alpha) <= kMaxAlpha))
    fail<FormatError>("{}: key 'adapter.lora.alpha' must be -{} .. {}, got {}",
                      printable_path(path()), kMaxAlpha, kMaxAlpha, alpha);
  alpha_ = static_cast<float>(alpha);
}

void Lora::read_pairs(const Checkpoint& model) {
  const std::map<std::string, Pair> pairs = pairs_of(file_);
  if (pairs.empty()) fail<FormatError>("{}: the adapter has no tensors", printable_path(path()));
  for (const auto& [name, pair] : pairs) {
    const CheckpointTensor* weight = model.find_tensor(name);
    if (!weight)
      fail<FormatError>("{}: tensor '{}' adapts '{}', which the model {} does not have",
                        printable_path(path()), printable(pair.a->name), printable(name),
                        printable_path(model.path()));
    weights_.emplace(name, fit(file_, pair, *weight, alpha_));
    for (const CheckpointTensor* tensor : {pair.a, pair.b}) check_values(file_, *tensor);
  }
}

namespace {

// How graphs use an adapted weight.
struct Uses {
  bool product = false, lookup = false;
};

// Whether a node multiplies by its input 1 in a way that the low-rank matrices can follow: those of
// heads only if the file of the model has a matrix per head, too.
bool is_adaptable_product(const Node& node, const LowRank& low) {
  return is_product(node) && (!is_by_heads(node) || low.u.shape.n_dims() == 3);
}

Uses uses_in(const Graph& graph, NodeId weight, const LowRank& low, const std::string& file) {
  Uses uses;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != weight) continue;
      const bool product = i == 1 && is_adaptable_product(node, low);
      const bool lookup = i == 0 && is_lookup(node);
      uses.product |= product;
      uses.lookup |= lookup;
      if (product || lookup) continue;
      fail<UnsupportedError>(
          "{}: adapts '{}', which the model uses in '{}' ({}); only weights of linear, "
          "expert_linear, head_linear with a matrix per head, and get_rows of one row per token "
          "can be adapted",
          printable_path(file), printable(graph[weight].path), node.path, node.op->name);
    }
  }
  return uses;
}

}  // namespace

void Lora::prepare(std::span<const Graph* const> graphs) {
  std::vector<std::string> to_transpose;
  for (const auto& [name, low] : weights_) {
    Uses uses;
    for (const Graph* graph : graphs) {
      const NodeId weight = graph->find(name);
      if (weight == kNoNode || (*graph)[weight].kind != NodeKind::weight) continue;
      const Uses here = uses_in(*graph, weight, low, path());
      uses.product |= here.product;
      uses.lookup |= here.lookup;
    }
    if (!uses.product && !uses.lookup) unused_.push_back(name);
    const bool missing =
        (uses.product && !low.v.tensor) || (uses.lookup && !low.v_transposed.tensor);
    if (missing) to_transpose.push_back(name);
  }
  if (!to_transpose.empty()) make_transposed(to_transpose);
}

namespace {

// The name of the i-th tensor in Lora::made_.
std::string tensor_name(std::size_t i) {
  return fmt::format("{}", i);
}

}  // namespace

void Lora::make_transposed(const std::vector<std::string>& names) {
  GgufWriter writer;
  std::map<std::string, std::vector<float>> values;
  for (const std::string& name : names) {
    const LowRank& low = weights_.at(name);
    const LowRankMatrix& have = low.v.tensor ? low.v : low.v_transposed;
    const std::int64_t rows = have.shape[0].bound, cols = have.shape[1].bound;
    const std::vector<float>& made = values[name] = transposed(values_of(*have.tensor), rows, cols);
    writer.add_tensor(tensor_name(values.size()), {f32, {cols, rows}},
                      std::as_bytes(std::span(made)));
  }
  made_ = Checkpoint::parse(MappedFile::anonymous(writer.to_bytes()), path());
  std::size_t i = 0;
  for (const std::string& name : names) {
    LowRank& low = weights_.at(name);
    const CheckpointTensor* tensor = made_->find_tensor(tensor_name(++i));
    (low.v.tensor ? low.v_transposed : low.v) = {tensor, tensor->spec.shape, true};
  }
}

std::vector<AddedTensor> Lora::tensors(std::size_t index) const {
  std::vector<AddedTensor> all;
  for (const auto& [name, low] : weights_) {
    if (std::ranges::count(unused_, name) != 0) continue;
    const auto add = [&](const LowRankMatrix& m, std::string_view which) {
      if (m.tensor)
        all.push_back({matrix_name(name, index, which), m.made ? &*made_ : &file_, m.tensor});
    };
    add(low.u, kU);
    add(low.v, kV);
    add(low.v_transposed, kVTransposed);
  }
  return all;
}

}  // namespace weft
