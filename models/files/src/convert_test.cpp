// Directories of safetensors written as GGUF files: rows in order, types, numbers that are not
// finite, and refused input.

#include "weft/files/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/files/gguf_writer.h"
#include "weft/ops/formats/q8_0.h"

#include "safetensors/tiny_directory.h"

using namespace weft;
using test::stored_file;
using test::TinyDirectory;

namespace {

constexpr std::uint16_t kOne = 0x3f80, kNan = 0x7fc0, kLarge = 0x4800;  // BF16: 1, NaN, 131072

// A table [4, 2] and a norm [2] in BF16, and keys [8, n] in F16: more than a megabyte if n is
// large, so that they are converted in pieces.
struct Source {
  TinyDirectory dir;
  std::string bytes;
  std::size_t table = 0, norm = 0, keys = 0;

  explicit Source(std::int64_t n = 1) {
    dir.config.update({{"hidden_size", 4}, {"num_attention_heads", 2}});
    const auto n_bytes = static_cast<std::size_t>(16 * n);
    dir.tensors = {{"model.embed_tokens.weight", "BF16", {4, 2}, 16},
                   {"model.norm.weight", "BF16", {2}, 4},
                   {"model.layers.0.self_attn.k_proj.weight", "F16", {8, n}, n_bytes}};
    bytes = stored_file(dir.tensors);
    table = bytes.size() - n_bytes - 20;
    norm = table + 16;
    keys = norm + 4;
  }
  void put(std::size_t at, std::uint16_t value) { std::memcpy(&bytes[at], &value, sizeof(value)); }
  std::string target() const { return dir.path() + "-out.gguf"; }
  Checkpoint open() const {
    dir.write("model.safetensors", bytes);
    return dir.open();
  }
  Checkpoint converted(const ConvertOptions& options = {}) const {
    write_gguf(open(), target(), options);
    return Checkpoint::open(target());
  }
  ~Source() { std::filesystem::remove(target()); }
};

template <class T>
std::vector<T> values_of(const Checkpoint& file, std::string_view name) {
  const CheckpointTensor* tensor = file.find_tensor(name);
  REQUIRE(tensor);
  std::vector<T> values(static_cast<std::size_t>(tensor->n_bytes) / sizeof(T));
  std::memcpy(values.data(), tensor->data, static_cast<std::size_t>(tensor->n_bytes));
  return values;
}

std::string error_of(const Source& source, const ConvertOptions& options = {}) {
  std::string text;
  try {
    source.converted(options);
  } catch (const Error& e) {
    text = e.what();
  }
  CHECK_FALSE(std::filesystem::exists(source.target()));
  const std::string path = source.dir.path();
  const std::size_t at = text.find(path);
  return at == std::string::npos ? text : text.replace(at, path.size(), "DIR");
}

}  // namespace

TEST_CASE("a converted file has the keys of the directory, and types as they were") {
  Source source(2);
  source.put(source.norm, kOne);
  const Checkpoint file = source.converted();
  CHECK_FALSE(file.is_directory());
  CHECK(file.find_string("general.architecture") == "llama");
  CHECK(file.find_uint("llama.vocab_size") == 4);
  CHECK(file.find_uint("general.file_type") == 1);  // most bytes are F16
  CHECK(file.tensors().size() == 3);
  CHECK(file.find_tensor("token_embd.weight")->spec == TensorSpec{bf16, {4, 2}});
  CHECK(file.find_tensor("blk.0.attn_k.weight")->spec == TensorSpec{f16, {8, 2}});
  CHECK(file.find_tensor("output_norm.weight")->spec == TensorSpec{f32, {2}});
  CHECK(values_of<float>(file, "output_norm.weight") == std::vector<float>{1, 0});
}

TEST_CASE("matrices get the requested type, vectors stay F32") {
  Source source;
  for (std::size_t i = 0; i < 8; ++i) source.put(source.table + 2 * i, kOne);
  struct Case {
    DType type;
    std::uint64_t number;
  };
  for (const Case& c : {Case{f32, 0}, Case{f16, 1}, Case{bf16, 32}}) {
    CAPTURE(c.type.name());
    const Checkpoint file = source.converted({.matrices = c.type});
    CHECK(file.find_uint("general.file_type") == c.number);
    CHECK(file.find_tensor("token_embd.weight")->spec.dtype == c.type);
    CHECK(file.find_tensor("blk.0.attn_k.weight")->spec.dtype == c.type);
    CHECK(file.find_tensor("output_norm.weight")->spec.dtype == f32);
  }
  CHECK(values_of<float>(source.converted({.matrices = f32}), "token_embd.weight") ==
        std::vector<float>(8, 1));
  CHECK(values_of<std::uint16_t>(source.converted({.matrices = f16}), "token_embd.weight") ==
        std::vector<std::uint16_t>(8, 0x3c00));
}

TEST_CASE("rows of keys are in order, also across the pieces of a large tensor") {
  constexpr std::int64_t n = 100'000;
  Source source(n);
  const auto width = static_cast<std::size_t>(n);
  for (std::size_t row = 0; row < 8; ++row) {
    source.put(source.keys + 2 * row * width, static_cast<std::uint16_t>(row));
    source.put(source.keys + 2 * (row * width + width - 1), static_cast<std::uint16_t>(row + 16));
  }
  const auto got = values_of<std::uint16_t>(source.converted(), "blk.0.attn_k.weight");
  REQUIRE(got.size() == 8 * width);
  // Halves of a head's rows become pairs.
  const std::vector<std::uint16_t> expected = {0, 2, 1, 3, 4, 6, 5, 7};
  for (std::size_t row = 0; row < 8; ++row) {
    CAPTURE(row);
    CHECK(got[row * width] == expected[row]);
    CHECK(got[row * width + width - 1] == expected[row] + 16);
  }
}

TEST_CASE("weights that are not finite are refused by element, unless they are allowed") {
  Source source;
  source.put(source.table + 10, kNan);
  CHECK(error_of(source) ==
        "DIR: tensor 'token_embd.weight' holds nan at element 5 (--allow-nonfinite keeps them)");
  const Checkpoint file = source.converted({.matrices = f32, .allow_nonfinite = true});
  CHECK(std::isnan(values_of<float>(file, "token_embd.weight")[5]));
}

TEST_CASE("weights that F16 cannot hold are refused") {
  Source source;
  source.put(source.table + 6, kLarge);
  CHECK(source.converted().tensors().size() == 3);
  std::filesystem::remove(source.target());
  CHECK(error_of(source, {.matrices = f16}) ==
        "DIR: tensor 'token_embd.weight' would become inf at element 3 (F16 ends at 65504: take "
        "BF16)");
  const Checkpoint file = source.converted({.matrices = f16, .allow_nonfinite = true});
  CHECK(values_of<std::uint16_t>(file, "token_embd.weight")[3] == 0x7c00);
}

TEST_CASE("types that are not converted are refused before anything is written") {
  Source source;
  CHECK(error_of(source, {.matrices = q8_0}) == "matrices can become F32, F16 or BF16, not Q8_0");
  const std::string quantized = source.dir.path() + "/q8.gguf";
  GgufWriter writer;
  writer.add_tensor("w", {q8_0, {1, 32}},
                    [](const GgufWriter::Put& put) { put(std::vector<std::byte>(34)); });
  writer.write(quantized);
  CHECK_THROWS_WITH_AS(
      write_gguf(Checkpoint::open(quantized), source.target()),
      (quantized + ": tensor 'w' is Q8_0, only F32, F16 and BF16 are converted").c_str(),
      UnsupportedError);
  CHECK_FALSE(std::filesystem::exists(source.target()));
}

TEST_CASE("files of the model are not overwritten") {
  const Source source;
  const Checkpoint file = source.open();
  for (const char* name : {"/model.safetensors", "/config.json"})
    CHECK_THROWS_AS(write_gguf(file, source.dir.path() + name), ValueError);
  CHECK(source.open().tensors().size() == 3);
}

TEST_CASE("progress ends at 1, and a cancelled conversion leaves no file") {
  const Source source(100'000);
  std::vector<double> seen;
  source.converted({.progress = [&](double done) {
    seen.push_back(done);
    return true;
  }});
  REQUIRE(seen.size() > 3);  // keys come in pieces
  CHECK(std::ranges::is_sorted(seen));
  CHECK(seen.back() == 1);
  std::filesystem::remove(source.target());
  CHECK(error_of(source, {.progress = [](double) { return false; }}) ==
        "the conversion was cancelled");
}
