// Directories as they are found in the wild: unaligned shards, pointers of Git LFS, missing output
// matrices, numbers that JSON lacks.

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/files/checkpoint.h"

#include "safetensors/tiny_directory.h"

namespace weft {

using safetensors::Json;
using test::holds;
using test::stored_file;
using test::TinyDirectory;

TEST_CASE("data that is not aligned is copied") {
  TinyDirectory dir;
  dir.config["tie_word_embeddings"] = false;
  dir.tensors = {{"model.embed_tokens.weight", "F16", {4, 2}, 16},
                 {"model.norm.weight", "F32", {2}, 8},
                 {"lm_head.weight", "BF16", {4, 2}, 16}};
  std::string header = stored_file(dir.tensors).substr(8);
  header = header.substr(0, header.rfind('}') + 1);
  while ((8 + header.size()) % 4 != 3) header += ' ';
  std::string data(40, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i);
  data[19] = data[23] = 0x40;
  dir.write("model.safetensors", stored_file(header, data));
  const Checkpoint file = dir.open();
  for (const auto& [name, first] :
       {std::pair("token_embd.weight", 0), std::pair("output.weight", 24)}) {
    const CheckpointTensor* tensor = file.find_tensor(name);
    REQUIRE(tensor);
    REQUIRE(tensor->runs.size() == 1);
    std::vector<std::byte> rows(8);
    copy_rows(*tensor, 1, 3, rows.data());
    for (std::size_t i = 0; i < rows.size(); ++i)
      CHECK(std::to_integer<std::size_t>(rows[i]) == static_cast<std::size_t>(first) + 4 + i);
  }
  const CheckpointTensor* norm = file.find_tensor("output_norm.weight");
  REQUIRE(norm);
  CHECK(reinterpret_cast<std::uintptr_t>(norm->data) % 4 == 0);
  CHECK(std::memcmp(norm->data, data.data() + 16, 8) == 0);
}

TEST_CASE("pointers of Git LFS are named as what they are") {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 123\n";
  for (const char* name : {"model.safetensors", "config.json", "tokenizer.json"}) {
    TinyDirectory dir;
    dir.write(name, pointer);
    CHECK(dir.error() ==
          fmt::format("DIR/{}: is a Git LFS pointer of 68 bytes, not the file itself; "
                      "run git lfs pull, or download the file",
                      name));
  }
  TinyDirectory dir;
  dir.write("model.gguf", pointer);
  CHECK_THROWS_AS(Checkpoint::open(dir.path() + "/model.gguf"), FormatError);
}

TEST_CASE("an output matrix may be missing where nobody needs it") {
  TinyDirectory whole;
  whole.config["tie_word_embeddings"] = false;
  CHECK(holds(whole.error(), "tensor 'lm_head.weight' is missing"));
  TinyDirectory neox;
  neox.config.update(
      {{"model_type", "gpt_neox"}, {"tie_word_embeddings", false}, {"hidden_act", "gelu"}});
  neox.tensors = {{"gpt_neox.embed_in.weight", "F16", {4, 32}, 256}};
  CHECK(holds(neox.error(), "tensor 'lm_head.weight' is missing"));
  TinyDirectory base;
  base.config["tie_word_embeddings"] = false;
  base.tensors = {{"embed_tokens.weight", "F16", {4, 2}, 16}};
  CHECK(base.open().find_bool(kWithoutOutputKey) == true);
  CHECK_FALSE(TinyDirectory().open().find_bool(kWithoutOutputKey));
}

TEST_CASE("NaN and Infinity in a configuration, as Python writes them") {
  TinyDirectory dir;
  std::string text = dir.config.dump();
  text.insert(
      1,
      R"("initializer_range": NaN, "initializer_factor": [-Infinity, Infinity, "NaN \" Infinity"], )");
  dir.write("config.json", text);
  CHECK(dir.error() == "");
  TinyDirectory read;
  text = read.config.dump();
  text.insert(1, R"("rms_norm_eps": NaN, )");
  read.write("config.json", text);
  CHECK(read.error() == "DIR/config.json: 'rms_norm_eps' must be a number, got string");
}

}  // namespace weft
