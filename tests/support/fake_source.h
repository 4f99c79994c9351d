#pragma once
// For tests: a model file that exists only as keys and tensor specs.

#include <map>
#include <string>
#include <variant>

#include "weft/arch/hparams.h"
#include "weft/base/error.h"

namespace weft::test {

struct FakeSource : ModelSource {
  using Value = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>>;
  std::map<std::string, Value, std::less<>> keys;
  std::map<std::string, TensorSpec, std::less<>> tensors;

  std::string_view file() const override { return "tiny.gguf"; }
  std::optional<std::uint64_t> find_uint(std::string_view key) const override {
    const auto value = get<std::int64_t>(key);
    return value ? std::optional<std::uint64_t>(*value) : std::nullopt;
  }
  std::optional<double> find_float(std::string_view key) const override { return get<double>(key); }
  std::optional<bool> find_bool(std::string_view key) const override {
    const auto value = get<std::int64_t>(key);
    return value ? std::optional<bool>(*value != 0) : std::nullopt;
  }
  std::optional<std::string_view> find_string(std::string_view key) const override {
    const auto it = keys.find(key);
    if (it == keys.end()) return std::nullopt;
    return std::get<std::string>(it->second);
  }
  std::vector<std::int64_t> find_ints(std::string_view key) const override {
    const auto it = keys.find(key);
    if (it == keys.end()) return {};
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&it->second)) return *list;
    return {std::get<std::int64_t>(it->second)};
  }
  std::int64_t array_size(std::string_view key) const override {
    const auto it = keys.find(key);
    if (it == keys.end() || !std::holds_alternative<std::vector<std::int64_t>>(it->second)) {
      return 0;
    }
    return static_cast<std::int64_t>(std::get<std::vector<std::int64_t>>(it->second).size());
  }
  const TensorSpec* find_tensor(std::string_view name) const override {
    const auto it = tensors.find(name);
    return it == tensors.end() ? nullptr : &it->second;
  }
  std::vector<std::string_view> tensor_names() const override {
    std::vector<std::string_view> names;
    for (const auto& [name, spec] : tensors) names.push_back(name);
    return names;
  }

 private:
  template <class T>
  std::optional<T> get(std::string_view key) const {
    const auto it = keys.find(key);
    return it == keys.end() ? std::nullopt : std::optional<T>(std::get<T>(it->second));
  }
};

// Keys and tensors of a decoder: D 64, H 4, G 2, E 16 (or 64 / heads), F 96, V 50.
inline FakeSource tiny_decoder(const std::string& arch, std::int64_t heads = 4,
                               std::int64_t layers = 2) {
  const std::int64_t kv = 2 * 64 / heads;
  FakeSource s;
  s.keys["general.architecture"] = arch;
  const auto key = [&](const std::string& name, FakeSource::Value value) {
    s.keys[arch + "." + name] = std::move(value);
  };
  key("context_length", 256);
  key("embedding_length", 64);
  key("block_count", layers);
  key("feed_forward_length", 96);
  key("vocab_size", 50);
  key("attention.head_count", heads);
  key("attention.head_count_kv", 2);
  key("attention.layer_norm_rms_epsilon", 1e-5);
  const auto tensor = [&](const std::string& name, const Shape& shape) {
    s.tensors[name] = {f32, shape};
  };
  tensor("token_embd.weight", {50, 64});
  tensor("output_norm.weight", {64});
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string blk = fmt::format("blk.{}.", i);
    tensor(blk + "attn_norm.weight", {64});
    tensor(blk + "attn_q.weight", {64, 64});
    tensor(blk + "attn_k.weight", {kv, 64});
    tensor(blk + "attn_v.weight", {kv, 64});
    tensor(blk + "attn_output.weight", {64, 64});
    tensor(blk + "ffn_norm.weight", {64});
    tensor(blk + "ffn_gate.weight", {96, 64});
    tensor(blk + "ffn_up.weight", {96, 64});
    tensor(blk + "ffn_down.weight", {64, 96});
  }
  return s;
}

}  // namespace weft::test
