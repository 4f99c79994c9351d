#include "weft/arch/made_source.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/error.h"

#include "build_unchecked.h"

namespace weft::arch {

namespace {

// Small values that architectures require beyond the usual ones, by the ends of
// their keys. Widths are multiples of D, so that matrices are whole blocks of most formats;
// the latent vector and what rope turns are a whole block of the caches.
struct MadeUp {
  std::string_view key;
  MadeSource::Value value = std::int64_t{0};
  std::int64_t per_width = 0;  // the value is that many times D
  std::string_view with = {};  // a key that must fit, unless the source has it
  std::int64_t with_value = 0;
  bool replaces = false;  // a value that was given and is refused
};
using Ids = std::vector<std::int64_t>;
// Never destroyed: threads may make models while the process ends.
const std::vector<MadeUp>& kMadeUp = *new std::vector<MadeUp>{
    {.key = "expert_count", .value = std::int64_t{4}},
    {.key = "expert_used_count", .value = std::int64_t{2}},
    {.key = "expert_feed_forward_length", .per_width = 1},
    {.key = "attention.kv_lora_rank",
     .value = std::int64_t{24},
     .with = "rope.dimension_count",
     .with_value = 8},
    {.key = "attention.compress_ratios", .value = std::int64_t{4}},
    {.key = "attention.output_group_count", .value = std::int64_t{2}},
    {.key = "hyper_connection.count", .value = std::int64_t{3}},
    {.key = "mhc_num_stream", .value = std::int64_t{3}},
    {.key = "param_sink_number", .value = std::int64_t{70}},
    {.key = "ssm.conv_kernel", .value = std::int64_t{4}},
    {.key = "ssm.inner_size", .per_width = 2},
    {.key = "ssm.group_count", .value = std::int64_t{2}},
    {.key = "shortconv.l_cache", .value = std::int64_t{3}},
    {.key = "attention.indexer.head_count", .value = std::int64_t{2}},  // a head per kv head
    {.key = "experts_per_group", .value = std::int64_t{2}},
    {.key = "expert_group_scale", .value = 0.5},
    {.key = "residual_scale", .value = 1.0},
    {.key = "kda.gate_lower_bound", .value = -5.0},
    {.key = "alpha_p", .value = 0.5},  // xielu
    {.key = "alpha_n", .value = 0.5},
    {.key = "beta", .value = 0.5},
    {.key = "eps", .value = 0.0},
    {.key = "adapters.count", .value = std::int64_t{2}},
    {.key = "adapters.token_ids_activate", .value = Ids{3, 4}},
    {.key = "adapters.token_ids_substitute", .value = Ids{5, 6}},
    {.key = "vocab_size",
     .value = std::int64_t{8200},
     .replaces = true},  // with the tokens of images
};
constexpr std::int64_t kOtherwise = 32;

// Whether every op that uses node `id`, directly or as a view, would take it with this spec.
bool accepted(const Graph& graph, const NodeUsers& users, NodeId id, const TensorSpec& spec) {
  for (const NodeId user : users[id]) {
    const Node& node = graph[user];
    std::vector<TensorSpec> specs = graph.input_specs(node);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (node.inputs[i] == id) specs[i] = spec;
    }
    try {
      const TensorSpec out = node.op->infer(node.attrs, specs);
      if (node.op->storage == Storage::view && !accepted(graph, users, user, out)) return false;
    } catch (const Error&) {
      return false;
    }
  }
  return true;
}

}  // namespace

MadeSource::MadeSource(const std::string& architecture, const MadeSizes& sizes)
    : architecture_(architecture), width_(sizes.D) {
  keys.emplace("general.architecture", architecture);
  keys.emplace("tokenizer.ggml.model", std::string("no_vocab"));
  set("context_length", sizes.context);
  set("embedding_length", sizes.D);
  set("block_count", sizes.L + sizes.draft_layers);
  set("feed_forward_length", sizes.F);
  set("vocab_size", sizes.V);
  set("attention.head_count", sizes.H);
  set("attention.head_count_kv", sizes.G);
  set("attention.layer_norm_rms_epsilon", 1e-5);
  set("attention.layer_norm_epsilon", 1e-5);
  const auto set_unless_0 = [&](std::string_view key, auto value) {
    if (value != 0) set(key, value);
  };
  set_unless_0("attention.key_length", sizes.E);
  set_unless_0("attention.value_length", sizes.Ev != 0 ? sizes.Ev : sizes.E);
  set_unless_0("rope.dimension_count", sizes.R != 0 ? sizes.R : sizes.E);
  set_unless_0("rope.freq_base", sizes.rope_base);
  set_unless_0("nextn_predict_layers", sizes.draft_layers);
  if (sizes.X == 0) return;
  set("expert_count", sizes.X);
  set("expert_used_count", sizes.K);
  set_unless_0("expert_feed_forward_length", sizes.expert_F);
}

void MadeSource::set(std::string_view key, Value value) {
  keys.insert_or_assign(fmt::format("{}.{}", architecture_, key), std::move(value));
}

void MadeSource::learn() {
  learn(find_architecture(*this));
}

void MadeSource::learn(const Architecture& architecture) {
  learning_ = true;
  const Config config = learn_keys(architecture);
  const std::size_t n_before = tensors_.size();
  std::vector<Graph> graphs;
  graphs.push_back(build_unchecked(*this, architecture, *config, {}));
  if (architecture.encode)
    graphs.push_back(build_unchecked(*this, architecture, *config, {.part = GraphPart::encoder}));
  if (architecture.draft && config->n_nextn > 0 && config->causal)
    graphs.push_back(build_unchecked(*this, architecture, *config, {.part = GraphPart::draft}));
  learning_ = false;
  if (!type_of) return;
  for (const Graph& graph : graphs) choose_types(graph, n_before);
}

// Chooses types for the tensors from number `first` on that the graph uses.
void MadeSource::choose_types(const Graph& graph, std::size_t first) {
  const NodeUsers users = graph.users();
  for (std::size_t i = first; i < tensors_.size(); ++i) {
    const auto& [name, spec] = tensors_[i];
    const TensorSpec typed{type_of(name, spec.shape), spec.shape};
    const NodeId id = graph.find(name);
    if (id != kNoNode && accepted(graph, users, id, typed)) tensors_[i].spec = typed;
  }
}

// A key that was made up may need others, which were read before it.
Config MadeSource::learn_keys(const Architecture& architecture) {
  while (true) {
    const auto before = keys;
    try {
      Config config = configure(*this, architecture);
      if (keys == before) return config;
    } catch (const FormatError&) {
      if (keys == before) throw;
    }
  }
}

bool MadeSource::make_up(std::string_view key) const {
  if (!learning_) return false;
  const auto known = std::ranges::find_if(
      kMadeUp, [&](const MadeUp& made) { return key.ends_with(fmt::format(".{}", made.key)); });
  if (known == std::end(kMadeUp)) {
    keys.emplace(key, kOtherwise);
    return true;
  }
  const Value value = known->per_width > 0 ? Value(known->per_width * width_) : known->value;
  if (known->replaces && keys.contains(key) && keys.find(key)->second == value) return false;
  if (known->replaces) keys.insert_or_assign(std::string(key), value);
  keys.emplace(key, value);
  if (!known->with.empty()) {
    const std::string_view prefix = key.substr(0, key.size() - known->key.size());
    keys.emplace(fmt::format("{}{}", prefix, known->with), known->with_value);
  }
  return true;
}

void MadeSource::add(const std::string& name, const TensorSpec& spec) {
  const auto at = std::ranges::find(tensors_, name, &Tensor::name);
  if (at == tensors_.end()) {
    tensors_.push_back({name, spec});
  } else {
    at->spec = spec;
  }
}

void MadeSource::remove(std::string_view name) {
  std::erase_if(tensors_, [&](const Tensor& tensor) { return tensor.name == name; });
}

template <class T>
const T* MadeSource::find(std::string_view key) const {
  const auto it = keys.find(key);
  if (it == keys.end()) return nullptr;
  if (const T* value = std::get_if<T>(&it->second)) return value;
  fail<FormatError>("{}: key '{}' has the wrong type", file(), key);
}

std::optional<std::uint64_t> MadeSource::find_uint(std::string_view key) const {
  const auto* value = find<std::int64_t>(key);
  return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}
std::optional<double> MadeSource::find_float(std::string_view key) const {
  const auto it = keys.find(key);
  if (it != keys.end() && std::holds_alternative<std::int64_t>(it->second))
    return static_cast<double>(std::get<std::int64_t>(it->second));
  const auto* value = find<double>(key);
  return value ? std::optional(*value) : std::nullopt;
}
std::optional<bool> MadeSource::find_bool(std::string_view key) const {
  const auto* value = find<bool>(key);
  return value ? std::optional(*value) : std::nullopt;
}
std::optional<std::string_view> MadeSource::find_string(std::string_view key) const {
  const auto* value = find<std::string>(key);
  return value ? std::optional<std::string_view>(*value) : std::nullopt;
}
std::vector<std::int64_t> MadeSource::find_ints(std::string_view key) const {
  const auto it = keys.find(key);
  if (it != keys.end() && std::holds_alternative<std::vector<std::int64_t>>(it->second))
    return std::get<std::vector<std::int64_t>>(it->second);
  const auto* value = find<std::int64_t>(key);
  return value ? std::vector{*value} : std::vector<std::int64_t>{};
}
std::vector<float> MadeSource::find_floats(std::string_view key) const {
  if (array_size(key) > 0) {
    const auto& list = std::get<std::vector<std::int64_t>>(keys.find(key)->second);
    return {list.begin(), list.end()};
  }
  const auto value = find_float(key);
  return value ? std::vector{static_cast<float>(*value)} : std::vector<float>{};
}
std::int64_t MadeSource::array_size(std::string_view key) const {
  const auto it = keys.find(key);
  const auto* list =
      it == keys.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&it->second);
  return list ? std::ssize(*list) : 0;
}

const TensorSpec* MadeSource::find_tensor(std::string_view name) const {
  const auto at = std::ranges::find(tensors_, name, &Tensor::name);
  return at == tensors_.end() ? nullptr : &at->spec;
}
std::vector<std::string_view> MadeSource::tensor_names() const {
  std::vector<std::string_view> names;
  for (const Tensor& tensor : tensors_) names.push_back(tensor.name);
  return names;
}

const TensorSpec* MadeSource::declare(std::string_view name, const Shape& shape,
                                      bool optional) const {
  const TensorSpec* known = find_tensor(name);
  const bool wanted = !optional || optional_tensors ||
                      std::ranges::any_of(optional_endings, [&](std::string_view ending) {
                        return name.ends_with(ending);
                      });
  if (known || !learning_ || !wanted) return known;
  tensors_.push_back({std::string(name), {f32, shape}});
  return &tensors_.back().spec;
}

std::function<DType(std::string_view, const Shape&)> matrices_of(DType type) {
  return [type](std::string_view name, const Shape& shape) {
    const bool matrix = shape.n_dims() >= 2 && name.find("_norm.") == std::string_view::npos;
    return matrix && shape.last() % type.block_elems() == 0 ? type : f32;
  };
}

}  // namespace weft::arch
