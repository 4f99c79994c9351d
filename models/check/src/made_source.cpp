#include "made_source.h"

#include <cmath>
#include <limits>
#include <random>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/files/gguf_writer.h"
#include "weft/ops/formats/format.h"

namespace weft {
namespace {

// What norms multiply with and frequencies are divided by lies near 1, biases near 0; matrices keep
// activations at their size.
std::vector<std::byte> random_weight(const std::string& name, const TensorSpec& spec) {
  std::uint32_t seed = 2166136261;  // FNV-1a: the same everywhere
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 16777619;
  std::mt19937 random(seed);
  const bool vector = spec.shape.rank() < 2;
  const bool factor = vector && name.find("bias") == std::string::npos;
  const double spread = vector ? 0.2 : 1.7 / std::sqrt(static_cast<double>(spec.shape.last()));
  std::vector<float> values(static_cast<std::size_t>(spec.shape.elems()));
  for (float& v : values) {
    v = static_cast<float>((factor ? 1 : 0) +
                           spread * (static_cast<double>(random()) / 0x7fffffff - 1));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(spec.bytes()));
  find_format(spec.dtype)->encode(values.data(), bytes.data(), std::ssize(values));
  return bytes;
}

}  // namespace

MadeSource::MadeSource(const std::string& architecture,
                       const std::vector<std::pair<std::string, NewModelOptions::Value>>& keys,
                       DType matrices, bool optional_tensors)
    : matrices_(matrices), optional_tensors_(optional_tensors) {
  const auto usual = [&](const char* name, NewModelOptions::Value value) {
    keys_[architecture + "." + name] = std::move(value);
  };
  keys_["general.architecture"] = architecture;
  keys_["tokenizer.ggml.model"] = "no_vocab";
  usual("context_length", std::int64_t{128});
  usual("embedding_length", std::int64_t{256});
  usual("block_count", std::int64_t{2});
  usual("feed_forward_length", std::int64_t{512});
  usual("vocab_size", std::int64_t{96});
  usual("attention.head_count", std::int64_t{8});
  usual("attention.head_count_kv", std::int64_t{2});
  usual("attention.layer_norm_rms_epsilon", 1e-5);
  for (const auto& [key, value] : keys) keys_[key] = value;
}

template <class T>
const T* MadeSource::find(std::string_view key) const {
  const auto it = keys_.find(key);
  if (it == keys_.end()) return nullptr;
  if (const T* value = std::get_if<T>(&it->second)) return value;
  fail<FormatError>("{}: key '{}' has another type than is wanted", file(), key);
}

std::optional<std::uint64_t> MadeSource::find_uint(std::string_view key) const {
  const auto* value = find<std::int64_t>(key);
  return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}
std::optional<double> MadeSource::find_float(std::string_view key) const {
  const auto it = keys_.find(key);
  if (it != keys_.end() && std::holds_alternative<std::int64_t>(it->second))
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
  const auto* value = find<std::int64_t>(key);
  return value ? std::vector{*value} : std::vector<std::int64_t>{};
}

const TensorSpec* MadeSource::find_tensor(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second;
}
std::vector<std::string_view> MadeSource::tensor_names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, spec] : tensors_) names.push_back(name);
  return names;
}

const TensorSpec* MadeSource::declare(std::string_view name, const Shape& shape,
                                      bool optional) const {
  if (optional && !optional_tensors_) return find_tensor(name);
  const bool blocks = shape.rank() >= 2 && shape.last() % matrices_.block_elems() == 0;
  return &tensors_.try_emplace(std::string(name), TensorSpec{blocks ? matrices_ : f32, shape})
              .first->second;
}

void MadeSource::write(const std::string& path) const {
  GgufWriter writer;
  for (const auto& [key, value] : keys_) {
    if (const auto* text = std::get_if<std::string>(&value)) writer.add_string(key, *text);
    if (const auto* number = std::get_if<double>(&value))
      writer.add_f32(key, static_cast<float>(*number));
    if (const auto* flag = std::get_if<bool>(&value)) writer.add_bool(key, *flag);
    const auto* count = std::get_if<std::int64_t>(&value);
    if (!count) continue;
    if (*count < 0 || *count > std::numeric_limits<std::uint32_t>::max())
      fail<ValueError>("key '{}' must be 0 to {}, got {}", printable(key),
                       std::numeric_limits<std::uint32_t>::max(), *count);
    writer.add_u32(key, static_cast<std::uint32_t>(*count));
  }
  for (const auto& [name, spec] : tensors_) {
    writer.add_tensor(name, spec, [&name = name, &spec = spec](const GgufWriter::Put& put) {
      put(random_weight(name, spec));
    });
  }
  writer.write(path);
}

}  // namespace weft
