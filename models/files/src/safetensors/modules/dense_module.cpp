#include "safetensors/modules/dense_module.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/dense_activations.h"
#include "weft/files/weft_keys.h"
#include "weft/ops/formats/format.h"

#include "safetensors/optional_file.h"

namespace weft::safetensors {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxFeatures = std::uint64_t{1} << 20;

// Checks the features that a module reads and writes in sentence-transformers' table.
void check_features(const JsonObject& json, bool pooled) {
  const std::string expected = pooled ? "sentence_embedding" : "token_embeddings";
  const std::string input =
      json.find_string("module_input_name").value_or(std::string("sentence_embedding"));
  for (const char* key : {"module_input_name", "module_output_name"}) {
    const std::string name = json.find_string(key).value_or(input);
    if (name == expected) continue;
    fail<UnsupportedError>("{}: '{}' must be '{}' {} Pooling, got '{}'",
                           printable_path(json.file()), key, expected, pooled ? "after" : "without",
                           printable(name));
  }
}

std::int64_t features(const JsonObject& json, const char* key) {
  const std::uint64_t n = json.uint(key);
  if (n == 0 || n > kMaxFeatures) json.mismatch(key, fmt::format("1 to {}", kMaxFeatures));
  return static_cast<std::int64_t>(n);
}

std::string activation_of(const JsonObject& json) {
  const std::string name =
      json.find_string("activation_function").value_or("torch.nn.modules.activation.Tanh");
  std::string known;
  for (const DenseActivation& a : dense_activations()) {
    if (a.torch_name == name) return std::string(a.name);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", a.torch_name);
  }
  fail<UnsupportedError>("{}: 'activation_function' '{}' is not supported (supported: {})",
                         printable_path(json.file()), printable(name), known);
}

Shard open_weights(const fs::path& folder) {
  const fs::path path = folder / "model.safetensors";
  std::error_code error;
  if (fs::exists(path, error)) return open_shard(path.string());
  if (fs::exists(folder / "pytorch_model.bin", error)) {
    fail<UnsupportedError>("{}: 'pytorch_model.bin' cannot be read; save it as model.safetensors",
                           printable_path(folder.string()));
  }
  fail<FormatError>("{}: 'model.safetensors' is missing", printable_path(folder.string()));
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

const StoredTensor* find_stored(const Shard& file, std::string_view name) {
  const auto found = std::ranges::find(file.tensors, name, &StoredTensor::name);
  return found == file.tensors.end() ? nullptr : &*found;
}

StoredTensor take(const Shard& file, const char* name, const std::vector<std::int64_t>& shape) {
  const StoredTensor* tensor = find_stored(file, name);
  if (!tensor) fail<FormatError>("{}: tensor '{}' is missing", printable_path(file.path), name);
  if (tensor->shape != shape) {
    fail<FormatError>("{}: tensor '{}' must be {}, got {}", printable_path(file.path), name,
                      shape_text(shape), shape_text(tensor->shape));
  }
  if (!tensor->type.valid()) {
    fail<UnsupportedError>("{}: tensor '{}': dtype {} is not supported (supported: F32, F16, BF16)",
                           printable_path(file.path), name, tensor->type_name);
  }
  return *tensor;
}

void check_no_others(const Shard& file, std::size_t n_taken) {
  if (file.tensors.size() == n_taken) return;
  for (const StoredTensor& tensor : file.tensors) {
    if (tensor.name == "linear.weight" || (tensor.name == "linear.bias" && n_taken == 2)) continue;
    fail<UnsupportedError>("{}: tensor '{}' is not supported in a Dense module",
                           printable_path(file.path), printable(tensor.name));
  }
}

}  // namespace

DenseModule read_dense_module(const std::string& folder, bool pooled) {
  const OptionalFile config(folder, "config.json");
  if (!config.found()) fail<FormatError>("{}: 'config.json' is missing", printable_path(folder));
  const JsonObject json = config.object();
  check_features(json, pooled);
  if (json.find_bool("use_residual").value_or(false))
    fail<UnsupportedError>("{}: 'use_residual' is not supported", printable_path(config.path()));
  const std::int64_t n_in = features(json, "in_features"), n_out = features(json, "out_features");
  DenseModule dense{.name = {},
                    .activation = activation_of(json),
                    .file = open_weights(folder),
                    .weight = {},
                    .bias = {}};
  dense.weight = take(dense.file, "linear.weight", {n_out, n_in});
  if (json.find_bool("bias").value_or(true)) dense.bias = take(dense.file, "linear.bias", {n_out});
  check_no_others(dense.file, dense.bias ? 2 : 1);
  return dense;
}

CheckpointTensor add_dense(const DenseModule& dense, files::CheckpointBuilder& builder) {
  const std::byte* const data = dense.file.map.bytes().data();
  if (dense.bias) {
    const StoredTensor& bias = *dense.bias;
    std::vector<float> values(static_cast<std::size_t>(bias.shape[0]));
    // Copied, because data in the file need not be aligned.
    const std::vector<std::byte> bytes(data + bias.offset, data + bias.offset + bias.n_bytes);
    find_format(bias.type)->decode(bytes.data(), values.data(), bias.shape[0]);
    builder.add_floats(dense.name + ".bias", values);
  }
  const StoredTensor& weight = dense.weight;
  return {.name = builder.keep(dense.name + ".weight"),
          .spec = {weight.type, {weight.shape[0], weight.shape[1]}},
          .data = data + weight.offset,
          .n_bytes = static_cast<std::int64_t>(weight.n_bytes),
          .file_offset = weight.offset};
}

void add_activations(const Modules& modules, MetadataSink& sink) {
  std::vector<std::string> names;
  for (const DenseModule& dense : modules.dense) names.push_back(dense.activation);
  const std::string_view none = dense_activations().front().name;
  if (std::ranges::any_of(names, [none](const std::string& name) { return name != none; }))
    sink.add_strings(kDenseActivationsKey, names);
}

void check_normalize_module(const std::string& folder, bool pooled) {
  const OptionalFile config(folder, "config.json");
  check_features(config.object(), pooled);
}

}  // namespace weft::safetensors
