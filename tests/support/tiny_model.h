#pragma once
// For tests: model files with random weights, written, loaded and removed again.

#include <cmath>
#include <filesystem>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

#include "weft/files/gguf_writer.h"
#include "weft/ops/formats/format.h"
#include "weft/run/model.h"

#include "support/fake_source.h"

namespace weft::test {

struct TinyModel {
  std::string arch = "llama";
  DType matrices = f32;
  std::int64_t heads = 4;  // of 64 / heads elements; for llama
  std::int64_t layers = 2;
  // Called with the values of every tensor before they are encoded.
  std::function<void(const std::string& name, std::vector<float>& values)> change;
};

inline FakeSource tiny_source(const TinyModel& about) {
  FakeSource source = tiny_decoder(about.arch, about.heads, about.layers);
  for (const std::string blk : {"blk.0.", "blk.1."}) {
    if (about.arch == "qwen3") {
      source.tensors[blk + "attn_q_norm.weight"] = {f32, {16}};
      source.tensors[blk + "attn_k_norm.weight"] = {f32, {16}};
    }
    if (about.arch == "qwen2") {
      source.tensors[blk + "attn_q.bias"] = {f32, {64}};
      source.tensors[blk + "attn_k.bias"] = {f32, {32}};
      source.tensors[blk + "attn_v.bias"] = {f32, {32}};
    }
  }
  for (auto& [name, spec] : source.tensors) {
    if (spec.shape.rank() == 2) spec.dtype = about.matrices;
  }
  return source;
}

// Norms near 1, biases small, matrices so that activations keep their size.
inline std::vector<std::byte> tiny_weight(const TinyModel& about, const std::string& name,
                                          const TensorSpec& spec) {
  std::mt19937 random(static_cast<std::uint32_t>(std::hash<std::string>{}(name)));
  const bool vector = spec.shape.rank() == 1;
  const double spread = vector ? 0.2 : 1.7 / std::sqrt(static_cast<double>(spec.shape.last()));
  const double center = vector && name.find("norm") != std::string::npos ? 1 : 0;
  std::vector<float> values(static_cast<std::size_t>(spec.shape.elems()));
  for (float& v : values) {
    v = static_cast<float>(center + spread * (static_cast<double>(random()) / 0x7fffffff - 1));
  }
  if (about.change) about.change(name, values);
  std::vector<std::byte> bytes(static_cast<std::size_t>(spec.bytes()));
  find_format(spec.dtype)->encode(values.data(), bytes.data(), std::ssize(values));
  return bytes;
}

inline void write_tiny_model(const TinyModel& about, const std::string& path) {
  const FakeSource source = tiny_source(about);
  GgufWriter writer;
  writer.add_string("tokenizer.ggml.model", "no_vocab");
  for (const auto& [key, value] : source.keys) {
    if (const auto* text = std::get_if<std::string>(&value)) writer.add_string(key, *text);
    if (const auto* number = std::get_if<double>(&value)) {
      writer.add_f32(key, static_cast<float>(*number));
    }
    if (const auto* count = std::get_if<std::int64_t>(&value)) {
      writer.add_u32(key, static_cast<std::uint32_t>(*count));
    }
  }
  for (const auto& [name, spec] : source.tensors) {
    writer.add_tensor(name, spec,
                      [&](const GgufWriter::Put& put) { put(tiny_weight(about, name, spec)); });
  }
  writer.write(path);
}

// The mapping outlives the file's name.
inline std::shared_ptr<const Model> tiny_model(const TinyModel& about = {},
                                               const ModelOptions& options = {}) {
  static int n_made = 0;
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("weft-tiny-{}-{}.gguf", getpid(), n_made++);
  struct Removed {
    std::filesystem::path path;
    ~Removed() { std::filesystem::remove(path); }
  } removed{path};
  write_tiny_model(about, path.string());
  return Model::load(path.string(), options);
}

}  // namespace weft::test
