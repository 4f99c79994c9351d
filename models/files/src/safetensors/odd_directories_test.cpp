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
#include "weft/files/weft_keys.h"

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

TEST_CASE("heads of one element have no divisors of rope") {
  TinyDirectory dir;
  dir.config.update({{"head_dim", 1},
                     {"rope_scaling",
                      {{"rope_type", "llama3"},
                       {"factor", 8.0},
                       {"low_freq_factor", 1.0},
                       {"high_freq_factor", 4.0},
                       {"original_max_position_embeddings", 32}}}});
  CHECK(dir.error() == "");
  CHECK_FALSE(dir.open().find_tensor("rope_freqs.weight"));
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
  TinyDirectory layers;
  layers.config["tie_word_embeddings"] = false;
  layers.config["architectures"] = {"LlamaModel"};
  CHECK(layers.open().find_bool(kWithoutOutputKey) == true);
  TinyDirectory base;
  base.config["tie_word_embeddings"] = false;
  base.tensors = {{"embed_tokens.weight", "F16", {4, 2}, 16}};
  CHECK(base.open().find_bool(kWithoutOutputKey) == true);
  CHECK_FALSE(TinyDirectory().open().find_bool(kWithoutOutputKey));
}

TEST_CASE("classifiers have names for their outputs, and RoBERTa's ignore the pooler") {
  TinyDirectory dir;
  dir.config["architectures"] = {"LlamaForSequenceClassification"};
  dir.tensors.push_back({"score.weight", "F16", {2, 2}, 8});
  const Checkpoint file = dir.open();
  const auto labels = file.find_strings("llama.classifier.output_labels");
  REQUIRE(labels);
  CHECK(*labels == std::vector<std::string_view>{"LABEL_0", "LABEL_1"});
  dir.config["id2label"] = {{"0", "no"}};
  dir.write("config.json", dir.config.dump());
  CHECK(holds(dir.error(), "'id2label' must be the labels of the 2 classes"));
  dir.config["id2label"] = {{"1", "no"}};
  dir.write("config.json", dir.config.dump());
  CHECK(holds(dir.error(), "'id2label' must be labels of the numbers below 1"));

  TinyDirectory roberta;
  roberta.config.update({{"model_type", "roberta"},
                         {"hidden_act", "gelu"},
                         {"architectures", {"RobertaForSequenceClassification"}}});
  roberta.tensors = {{"roberta.embeddings.word_embeddings.weight", "F16", {4, 2}, 16},
                     {"roberta.pooler.dense.weight", "F16", {2, 2}, 8},
                     {"classifier.dense.weight", "F16", {2, 2}, 8},
                     {"classifier.out_proj.weight", "F16", {1, 2}, 4}};
  CHECK(roberta.open().find_tensor("cls.weight"));
}

TEST_CASE("settings of the whole model that change the part that reads text are refused") {
  for (const auto& [key, value] :
       {std::pair("use_bidirectional_attention", true), std::pair("is_causal", false)}) {
    TinyDirectory dir;
    Json text = dir.config;
    dir.config = {{"model_type", "whole"}, {"text_config", text}};
    CHECK(dir.error() == "");
    dir.config[key] = value;
    dir.write("config.json", dir.config.dump());
    CHECK(holds(dir.error(), fmt::format("'{}' is {}, which is not supported", key, value)));
  }
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
