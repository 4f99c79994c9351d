// Directories of safetensors: their models, and the messages about invalid ones.

#include <cmath>
#include <cstring>
#include <numbers>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/arch/builder.h"
#include "weft/files/checkpoint.h"
#include "weft/tokenize/vocabulary.h"

#include "safetensors/tiny_directory.h"

using namespace weft;
using test::holds;
using test::Json;
using test::stored_file;
using test::TinyDirectory;

namespace {

// The message for one more key in config.json, or another value.
std::string error_with(const std::string& key, const Json& value) {
  TinyDirectory dir;
  dir.config[key] = value;
  return dir.error();
}

}  // namespace

TEST_CASE("config.json becomes the keys of a GGUF file") {
  TinyDirectory dir;
  dir.config.update({{"num_key_value_heads", 1},
                     {"head_dim", 8},
                     {"rms_norm_eps", 1e-5},
                     {"rope_theta", 500000},
                     {"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}});
  const Checkpoint file = dir.open();
  CHECK(file.is_directory());
  CHECK(file.path() == dir.path());
  CHECK(file.part_paths().size() == 2);
  CHECK(file.find_string("general.architecture") == "llama");
  CHECK(file.find_uint("llama.vocab_size") == 4);
  CHECK(file.find_uint("llama.context_length") == 64);
  CHECK(file.find_uint("llama.embedding_length") == 32);
  CHECK(file.find_uint("llama.block_count") == 1);
  CHECK(file.find_uint("llama.feed_forward_length") == 4);
  CHECK(file.find_uint("llama.attention.head_count") == 2);
  CHECK(file.find_uint("llama.attention.head_count_kv") == 1);
  CHECK(file.find_uint("llama.attention.key_length") == 8);
  CHECK(file.find_uint("llama.attention.value_length") == 8);
  CHECK(file.find_uint("llama.rope.dimension_count") == 8);
  CHECK(file.find_float("llama.attention.layer_norm_rms_epsilon") == double{1e-5F});
  CHECK(file.find_float("llama.rope.freq_base") == 500000);
  CHECK(file.find_string("llama.rope.scaling.type") == "linear");
  CHECK(file.find_float("llama.rope.scaling.factor") == 4);
}

TEST_CASE("keys missing in config.json have the defaults of transformers") {
  const Checkpoint file = TinyDirectory().open();
  CHECK(file.find_uint("llama.attention.head_count_kv") == 2);
  CHECK_FALSE(file.find("llama.attention.key_length"));
  CHECK(file.find_uint("llama.rope.dimension_count") == 16);
  CHECK(file.find_float("llama.attention.layer_norm_rms_epsilon") == double{1e-6F});
  CHECK_FALSE(file.find("llama.rope.freq_base"));  // readers of GGUF have the same default
  CHECK_FALSE(file.find("llama.rope.scaling.type"));
}

TEST_CASE("llama 3 has its own rope divisors") {
  TinyDirectory dir;
  dir.config.update({{"head_dim", 128},
                     {"rope_theta", 500000.0},
                     {"rope_scaling",
                      {{"rope_type", "llama3"},
                       {"factor", 8.0},
                       {"low_freq_factor", 1.0},
                       {"high_freq_factor", 4.0},
                       {"original_max_position_embeddings", 8192}}}});
  const Checkpoint file = dir.open();
  const CheckpointTensor* factors = file.find_tensor("rope_freqs.weight");
  REQUIRE(factors);
  CHECK(factors->spec == TensorSpec{f32, {64}});
  std::vector<float> got(64);
  std::memcpy(got.data(), factors->data, 64 * sizeof(float));
  // Pairs that turn at least four times within 8192 positions, less than once, and between.
  CHECK(got[0] == 1);
  CHECK(got[28] == 1);
  CHECK(got[63] == 8);
  const double wavelength = 2 * std::numbers::pi * std::pow(500000.0, 2.0 * 32 / 128);
  const double share = (8192 / wavelength - 1) / 3;
  CHECK(got[32] == doctest::Approx(1 / ((1 - share) / 8 + share)).epsilon(1e-6));
  CHECK_FALSE(file.find("llama.rope.scaling.type"));
}

TEST_CASE("yarn keeps its parameters and its own magnitude") {
  TinyDirectory dir;
  dir.config["rope_parameters"] = {{"rope_type", "yarn"}, {"factor", 4.0},
                                   {"rope_theta", 1e6},   {"original_max_position_embeddings", 16},
                                   {"beta_fast", 24},     {"attention_factor", 2.0}};
  const Checkpoint file = dir.open();
  CHECK(file.find_string("llama.rope.scaling.type") == "yarn");
  CHECK(file.find_float("llama.rope.freq_base") == 1e6);
  CHECK(file.find_uint("llama.rope.scaling.original_context_length") == 16);
  CHECK(file.find_float("llama.rope.scaling.yarn_beta_fast") == 24);
  CHECK(*file.find_float("llama.rope.scaling.attn_factor") * (1 + 0.1 * std::log(4.0)) ==
        doctest::Approx(2).epsilon(1e-6));
}

TEST_CASE("tensors keep their place in the shard, norms become F32, rows of q and k their order") {
  TinyDirectory dir;
  dir.config.update({{"hidden_size", 4}, {"num_attention_heads", 2}});
  dir.tensors = {{"model.embed_tokens.weight", "BF16", {4, 4}, 32},
                 {"model.layers.0.self_attn.k_proj.weight", "F16", {8, 1}, 16},
                 {"model.layers.0.self_attn.q_proj.bias", "F16", {8}, 16},
                 {"model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {1}, 4},
                 {"model.norm.weight", "BF16", {2}, 4},
                 {"lm_head.weight", "BF16", {4, 4}, 32}};
  std::string bytes = stored_file(dir.tensors);
  const std::size_t k = bytes.size() - 104 + 32, bias = k + 16, norm = bias + 20;
  for (int i = 0; i < 8; ++i) {
    bytes[k + 2 * i] = static_cast<char>(i);
    bytes[bias + 2 * i + 1] = static_cast<char>(0x3c + i);  // 1, 1.25, 1.5, 1.75, 2, 2.5, ..
  }
  bytes[norm + 1] = bytes[norm + 3] = 0x40;  // 2
  dir.write("model.safetensors", bytes);
  const Checkpoint file = dir.open();
  CHECK(file.tensors().size() == 4);  // the output is tied, angles are computed
  CHECK_FALSE(file.find_tensor("output.weight"));
  const CheckpointTensor* keys = file.find_tensor("blk.0.attn_k.weight");
  REQUIRE(keys);
  CHECK(keys->spec == TensorSpec{f16, {8, 1}});
  CHECK(keys->part == 1);
  CHECK(keys->file_offset == k);
  std::vector<std::byte> rows(12);
  copy_rows(*keys, 1, 7, rows.data());
  const std::vector<int> expected = {2, 1, 3, 4, 6, 5};  // rows 1 .. 6 of 0 2 1 3 | 4 6 5 7
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(std::to_integer<int>(rows[2 * i]) == expected[i]);
  const CheckpointTensor* b = file.find_tensor("blk.0.attn_q.bias");
  REQUIRE(b);
  CHECK(b->spec == TensorSpec{f32, {8}});
  CHECK(b->runs.empty());
  std::vector<float> values(8);
  std::memcpy(values.data(), b->data, 32);
  CHECK(values == std::vector<float>{1, 1.5, 1.25, 1.75, 2, 3, 2.5, 3.5});
  const CheckpointTensor* n = file.find_tensor("output_norm.weight");
  REQUIRE(n);
  std::memcpy(values.data(), n->data, 8);
  CHECK(values[0] == 2);
  CHECK(values[1] == 2);
}

TEST_CASE("files that are missing or cut are named") {
  TinyDirectory dir;
  CHECK_THROWS_WITH_AS(
      Checkpoint::open(dir.path()),
      (dir.path() +
       ": a directory with neither 'model.safetensors' nor 'model.safetensors.index.json'")
          .c_str(),
      IoError);
  dir.write("model.safetensors", stored_file(dir.tensors));
  CHECK_THROWS_WITH_AS(Checkpoint::open(dir.path()),
                       (dir.path() + ": 'config.json' is missing").c_str(), IoError);
  CHECK_THROWS_AS(Checkpoint::open(dir.path() + "/model.safetensors"), FormatError);
  dir.write("config.json", "{\"vocab_size\": ");
  CHECK(holds(dir.error(), "DIR/config.json: not JSON: "));
  dir.write("config.json", "[]");
  CHECK(dir.error() == "DIR/config.json: the text must be an object, got array");
  dir.write("config.json", "{}");
  CHECK(dir.error() == "DIR/config.json: 'model_type' is missing");
}

TEST_CASE("numbers of config.json are checked") {
  const std::string unknown = error_with("model_type", "gpt9");
  CHECK(holds(unknown, "DIR/config.json: model_type 'gpt9' is not supported (supported: "));
  CHECK(holds(unknown, ", qwen3, "));
  CHECK(error_with("hidden_size", nullptr) == "DIR/config.json: 'hidden_size' is missing");
  CHECK(error_with("hidden_size", "32") ==
        "DIR/config.json: 'hidden_size' must be a whole number, got string");
  CHECK(error_with("hidden_size", -32) ==
        "DIR/config.json: 'hidden_size' must be a whole number, got -32");
  CHECK(error_with("hidden_size", 1e300) ==
        "DIR/config.json: 'hidden_size' must be a whole number, got 1e+300");
  CHECK(error_with("num_hidden_layers", std::uint64_t{1} << 40) ==
        "DIR/config.json: 'num_hidden_layers' must be below 2^31, got 1099511627776");
  CHECK(holds(error_with("num_attention_heads", 0), "'num_attention_heads' must be at least 1"));
  CHECK(error_with("vocab_size", 5) ==
        "DIR/config.json: 'vocab_size' is 5, the table of embeddings has 4 rows");
  CHECK(holds(error_with("rope_scaling", Json::array()), "'rope_scaling' must be an object"));
  CHECK(holds(error_with("rope_scaling", {{"type", "linear"}}), "'rope_scaling.factor' must be"));
  CHECK(holds(error_with("rope_scaling", {{"type", "linear"}, {"factor", 0}}), "above 0, got 0"));
}

TEST_CASE("settings that the architecture cannot compute are rejected by name") {
  CHECK(error_with("sliding_window", 32) ==
        "DIR/config.json: 'sliding_window' is 32, which is not supported");
  CHECK(error_with("layer_types", {"full_attention", "sliding_attention"}) ==
        "DIR/config.json: 'layer_types' is \"sliding_attention\", which is not supported");
  CHECK(error_with("hidden_act", "gelu") ==
        "DIR/config.json: 'hidden_act' is \"gelu\", which is not supported");
  CHECK(holds(error_with("quantization_config", {{"quant_method", "gptq"}}), "method 'gptq'"));
  CHECK(holds(error_with("rope_scaling", {{"type", "dynamic"}, {"factor", 2}}), "'dynamic'"));
  CHECK(holds(error_with("partial_rotary_factor", 0.5), "'partial_rotary_factor' is 0.5"));

  TinyDirectory whole;  // windows that no position reaches, or no layer has
  whole.config.update({{"sliding_window", 64}});
  CHECK(whole.error() == "");
  TinyDirectory off;
  off.config.update({{"sliding_window", 32}, {"use_sliding_window", false}});
  CHECK(off.error() == "");
  TinyDirectory later;
  later.config.update({{"sliding_window", 32}, {"max_window_layers", 1}});
  CHECK(later.error() == "");
}

TEST_CASE("decoders in which a token sees all others are read as such, or rejected by name") {
  TinyDirectory dir;
  CHECK_FALSE(dir.open().find("llama.attention.causal"));
  TinyDirectory all;
  all.config["is_causal"] = false;
  CHECK(all.open().find_bool("llama.attention.causal") == false);
  CHECK(error_with("use_bidirectional_attention", true) ==
        "DIR/config.json: 'use_bidirectional_attention' is true, which is not supported");

  TinyDirectory embedding;
  embedding.config.update({{"model_type", "gemma3_text"},
                           {"sliding_window", 8},
                           {"use_bidirectional_attention", true}});
  const Checkpoint file = embedding.open();
  CHECK(file.find_string("general.architecture") == "gemma-embedding");
  CHECK(file.find_uint("gemma-embedding.attention.sliding_window") == 8);
  CHECK(file.find_float("gemma-embedding.rope.freq_base") == 1e6);
  TinyDirectory part;
  part.config = {{"model_type", "gemma3"}, {"text_config", embedding.config}};
  CHECK(part.open().find_string("general.architecture") == "gemma-embedding");

  const auto error_of_gemma = [&](const std::string& key, const Json& value) {
    TinyDirectory gemma;
    gemma.config = embedding.config;
    gemma.config["use_bidirectional_attention"] = false;
    gemma.config[key] = value;
    return gemma.error();
  };
  CHECK(error_of_gemma("use_bidirectional_attention", nullptr) == "");
  CHECK(error_of_gemma("use_bidirectional_attention", "all") ==
        "DIR/config.json: 'use_bidirectional_attention' is \"all\", which is not supported");
  CHECK(error_of_gemma("is_causal", false) ==
        "DIR/config.json: 'is_causal' is false, which is not supported");
}

TEST_CASE("tensors that do not fit are rejected by name") {
  const auto error_with_tensor = [](const test::Stored& tensor) {
    TinyDirectory dir;
    dir.tensors.push_back(tensor);
    return dir.error();
  };
  CHECK(error_with_tensor({"model.vision.weight", "F16", {2}, 4}) ==
        "DIR/model.safetensors: tensor 'model.vision.weight': models of type 'llama' have no such "
        "tensor");
  CHECK(holds(error_with_tensor({"model.layers.01.mlp.up_proj.weight", "F16", {2}, 4}), "no such"));
  CHECK(holds(error_with_tensor({"embed_tokens.weight", "F16", {4, 2}, 16}), "under two names"));
  CHECK(holds(error_with_tensor({"model.layers.0.mlp.up_proj.weight", "F8_E4M3", {2, 2}, 4}),
              "dtype F8_E4M3 is not supported (supported: F32, F16, BF16)"));
  CHECK(holds(error_with_tensor({"model.layers.0.mlp.up_proj.weight", "F16", {2, 0}, 0}),
              "dimension 1 is 0"));
  CHECK(holds(error_with_tensor({"model.layers.0.mlp.up_proj.weight", "F16", {1, 1, 1, 1, 1}, 2}),
              "has 5 dimensions, at most 4"));
  CHECK(holds(error_with_tensor({"model.layers.0.self_attn.q_proj.weight", "F16", {6, 2}, 24}),
              "6 rows are not 2 heads of an even number of rows"));
  TinyDirectory dir;
  dir.config["tie_word_embeddings"] = false;
  CHECK(holds(dir.error(), "tensor 'lm_head.weight' is missing"));
}

TEST_CASE("each architecture has its own names and hyperparameters besides the usual ones") {
  const test::Stored norm{"model.layers.0.self_attn.q_norm.weight", "F32", {16}, 64};
  TinyDirectory dir;
  dir.tensors.push_back(norm);
  CHECK(holds(dir.error(), "models of type 'llama' have no such tensor"));
  TinyDirectory qwen;
  qwen.config["model_type"] = "qwen3";
  qwen.tensors.push_back(norm);
  CHECK(qwen.open().find_tensor("blk.0.attn_q_norm.weight"));

  static constexpr arch::HfTensor kTensors[] = {{"pre_attention", "attn_norm"}};
  static constexpr arch::HfKey kKeys[] = {
      {"multiplier", "scale", arch::HfKey::Kind::number},
      {"window", "window", arch::HfKey::Kind::count, arch::HfKey::IfAbsent::omit},
      {"clamps", "clamps", arch::HfKey::Kind::flag, arch::HfKey::IfAbsent::use_default, "", 1}};
  arch::register_architecture(
      {.name = "own-names",
       .build = [](const arch::Weights&, const arch::Hparams&,
                   const arch::Inputs& in) { return in.tokens; },
       .hugging_face = {
           .types = {"published"}, .tensors = kTensors, .keys = kKeys, .activations = {"gelu"}}});
  TinyDirectory own;
  own.config.update({{"model_type", "published"}, {"hidden_act", "gelu"}});
  own.tensors.push_back({"model.layers.0.pre_attention.weight", "F32", {2}, 8});
  CHECK(own.error() == "DIR/config.json: 'multiplier' is missing");
  TinyDirectory whole;
  whole.config = own.config;
  whole.config["multiplier"] = 0.5;
  whole.tensors = own.tensors;
  const Checkpoint file = whole.open();
  CHECK(file.find_string("general.architecture") == "own-names");
  CHECK(file.find_float("own-names.scale") == 0.5);
  CHECK_FALSE(file.find("own-names.window"));
  CHECK(file.find_bool("own-names.clamps") == true);
  CHECK(file.find_tensor("blk.0.attn_norm.weight"));
}

TEST_CASE("shards are found by the index and checked against it") {
  const std::vector<test::Stored> one = {{"model.embed_tokens.weight", "F16", {4, 2}, 16}};
  const std::vector<test::Stored> two = {{"model.norm.weight", "F32", {2}, 8}};
  const auto error_of = [&](const Json& map, const std::vector<test::Stored>& second) {
    TinyDirectory dir;
    dir.write("model.safetensors.index.json", Json{{"weight_map", map}}.dump());
    dir.write("m-1.safetensors", stored_file(one));
    if (!second.empty()) dir.write("m-2.safetensors", stored_file(second));
    return dir.error();
  };
  const Json right = {{"model.embed_tokens.weight", "m-1.safetensors"},
                      {"model.norm.weight", "m-2.safetensors"}};
  CHECK(error_of(right, two) == "");
  CHECK(error_of(right, {}) ==
        "DIR: shard 'm-2.safetensors' is missing, but 'model.safetensors.index.json' places tensor "
        "'model.norm.weight' in it");
  CHECK(error_of(right, one) ==
        "DIR/m-2.safetensors: tensor 'model.embed_tokens.weight' is also in 'DIR/m-1.safetensors'");
  Json wrong = right;
  wrong["model.norm.weight"] = "m-1.safetensors";
  CHECK(
      holds(error_of(wrong, two), "tensor 'model.norm.weight' is not in shard 'm-1.safetensors'"));
  for (const char* path :
       {"../m-2.safetensors", "/m-2.safetensors", "a/m-2.safetensors", "", "..", "config.json"}) {
    wrong["model.norm.weight"] = path;
    CHECK(holds(error_of(wrong, two), "must be in a file of this directory"));
  }
  wrong["model.norm.weight"] = 3;
  CHECK(holds(error_of(wrong, two), "must be the name of a file, got 3"));
  CHECK(holds(error_of(Json::object(), two), "'weight_map' is empty"));
}
