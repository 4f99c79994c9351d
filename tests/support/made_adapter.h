#pragma once
// For tests: LoRAs and control vectors with random values.

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "weft/files/gguf_writer.h"

namespace weft::test {

inline std::vector<float> random_values(std::int64_t n, std::uint32_t seed, float size) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-size, size);
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& v : values) v = uniform(random);
  return values;
}

struct MadeLora {
  std::string arch = "llama";
  // Names and shapes of the model's tensors, [N, K] or [X, N, K].
  std::vector<std::pair<std::string, Shape>> weights = {};
  std::int64_t rank = 4;
  float alpha = 8;
  float size = 0.2F;  // largest magnitude of a value
  std::uint32_t seed = 1;
  // Called with the writer after the tensors were added; may be empty.
  std::function<void(GgufWriter& writer)> more = {};
};

inline void add_random(GgufWriter& writer, const std::string& name, const Shape& shape,
                       std::uint32_t seed, float size) {
  auto values = random_values(shape.elems(), seed, size);
  writer.add_tensor(name, {f32, shape}, [values = std::move(values)](const GgufWriter::Put& put) {
    put(std::as_bytes(std::span(values)));
  });
}

inline void write_lora(const MadeLora& about, const std::string& path) {
  GgufWriter writer;
  writer.add_string("general.type", "adapter");
  writer.add_string("adapter.type", "lora");
  writer.add_string("general.architecture", about.arch);
  writer.add_f32("adapter.lora.alpha", about.alpha);
  std::uint32_t seed = 1000 * about.seed;
  const std::int64_t R = about.rank;
  for (const auto& [name, shape] : about.weights) {
    const std::int64_t N = shape[-2].bound, K = shape[-1].bound;
    const bool table = name == "token_embd.weight", experts = shape.n_dims() == 3;
    const auto matrix = [&](std::int64_t rows, std::int64_t cols) {
      return experts ? Shape{shape[0], rows, cols} : Shape{rows, cols};
    };
    add_random(writer, name + ".lora_a", table ? Shape{N, R} : matrix(R, K), ++seed, about.size);
    add_random(writer, name + ".lora_b", table ? Shape{K, R} : matrix(N, R), ++seed, about.size);
  }
  if (about.more) about.more(writer);
  writer.write(path);
}

struct MadeControlVector {
  std::string model_hint = "llama";  // empty: the file does not say
  std::vector<std::int64_t> layers = {1};
  std::int64_t width = 64;
  float size = 0.5F;
  std::uint32_t seed = 1;
};

inline void write_control_vector(const MadeControlVector& about, const std::string& path) {
  GgufWriter writer;
  writer.add_string("general.architecture", "controlvector");
  if (!about.model_hint.empty()) writer.add_string("controlvector.model_hint", about.model_hint);
  std::uint32_t seed = 100 * about.seed;
  for (const std::int64_t layer : about.layers)
    add_random(writer, fmt::format("direction.{}", layer), {about.width}, ++seed, about.size);
  writer.write(path);
}

}  // namespace weft::test
