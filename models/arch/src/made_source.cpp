#include "weft/arch/made_source.h"

#include <algorithm>

#include "weft/base/error.h"

namespace weft {

MadeSource::MadeSource(const std::string& architecture, const MadeSizes& sizes) {
  const auto usual = [&](const char* name, std::int64_t value) {
    keys.emplace(architecture + "." + name, value);
  };
  keys.emplace("general.architecture", architecture);
  keys.emplace("tokenizer.ggml.model", std::string("no_vocab"));
  usual("context_length", sizes.context);
  usual("embedding_length", sizes.D);
  usual("block_count", sizes.L);
  usual("feed_forward_length", sizes.F);
  usual("vocab_size", sizes.V);
  usual("attention.head_count", sizes.H);
  usual("attention.head_count_kv", sizes.G);
  keys.emplace(architecture + ".attention.layer_norm_rms_epsilon", 1e-5);
  keys.emplace(architecture + ".attention.layer_norm_epsilon", 1e-5);
}

void MadeSource::learn() {
  learn(find_architecture(*this));
}

void MadeSource::learn(const Architecture& architecture) {
  const Config config = configure(*this, architecture);
  learning_ = true;
  build_graph(*this, architecture, *config, {});
  learning_ = false;
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
  tensors_.push_back({std::string(name), {type_of ? type_of(name, shape) : f32, shape}});
  return &tensors_.back().spec;
}

std::function<DType(std::string_view, const Shape&)> matrices_of(DType type) {
  return [type](std::string_view, const Shape& shape) {
    return shape.rank() >= 2 && shape.last() % type.block_elems() == 0 ? type : f32;
  };
}

}  // namespace weft
