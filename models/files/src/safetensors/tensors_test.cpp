// Tensors of directories that do not fit, and parts of models that are not loaded.

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "safetensors/tiny_directory.h"

namespace weft {

using safetensors::Json;

namespace {

// The message for a directory with these tensors, without its path.
std::string error_of(const Json& config, const std::vector<test::Stored>& tensors) {
  test::TinyDirectory dir;
  dir.config.update(config);
  dir.tensors = tensors;
  return dir.error();
}

}  // namespace

TEST_CASE("experts that are missing, or differ, are named") {
  const Json mixtral = {{"model_type", "mixtral"}, {"num_local_experts", 3}};
  const auto expert = [](const char* number, std::int64_t rows) {
    return test::Stored{
        "model.layers.0.block_sparse_moe.experts." + std::string(number) + ".w1.weight",
        "F16",
        {rows, 2},
        static_cast<std::size_t>(rows) * 4};
  };
  const std::string file = "DIR/model.safetensors: tensor ",
                    start = "'model.layers.0.block_sparse_moe.experts.";
  CHECK(error_of(mixtral, {expert("0", 2), expert("2", 2)}) ==
        file + start + "2.w1.weight': is of expert 2, but that of expert 1 is missing");
  CHECK(error_of(mixtral, {expert("0", 2), expert("1", 2)}) ==
        file + start + "1.w1.weight': is of the last expert, config.json says that there are 3");
  CHECK(error_of(mixtral, {expert("0", 2), expert("1", 4), expert("2", 2)}) ==
        file + start + "1.w1.weight': is F16 [4, 2], that of expert 0 F16 [2, 2]");
  CHECK(error_of(mixtral, {expert("00", 2)}) ==
        file + start + "00.w1.weight': models of type 'mixtral' have no such tensor");
}

TEST_CASE("tensors that cannot be rearranged are named") {
  const Json neox = {{"model_type", "gpt_neox"}, {"hidden_act", "gelu"}};
  CHECK(
      error_of(neox, {{"gpt_neox.layers.0.attention.query_key_value.weight", "F16", {8, 2}, 32}}) ==
      "DIR/model.safetensors: tensor 'gpt_neox.layers.0.attention.query_key_value.weight': 8 "
      "rows are not 2 query heads and 2 heads for keys and for values");
  const Json gemma = {{"model_type", "gemma2"}, {"head_dim", 8}, {"query_pre_attn_scalar", 8}};
  CHECK(error_of(gemma, {{"model.norm.weight", "F16", {2, 2}, 8}}) ==
        "DIR/model.safetensors: tensor 'model.norm.weight': must be a vector, got [2, 2]");
  Json windows = gemma;
  windows["layer_types"] = {"full_attention", "full_attention"};
  CHECK(error_of(windows, {})
            .starts_with("DIR/config.json: 'layer_types' must be one kind for each"));
  windows["layer_types"] = Json::array({"chunked_attention"});
  CHECK(error_of(windows, {}) ==
        "DIR/config.json: 'layer_types' is \"chunked_attention\", which is not supported");
  const Json falcon = {{"model_type", "falcon"}, {"alibi", true}};
  CHECK(error_of(falcon, {}) == "DIR/config.json: 'alibi' is true, which is not supported");
}

TEST_CASE("only the part of a model that reads text is loaded") {
  test::TinyDirectory dir;
  Json text = dir.config;
  text.erase("tie_word_embeddings");
  dir.config = {{"model_type", "mistral3"}, {"text_config", text}, {"tie_word_embeddings", true}};
  dir.tensors = {{"language_model.model.embed_tokens.weight", "F16", {4, 2}, 16},
                 {"vision_tower.patch.weight", "F16", {2}, 4},
                 {"model.multi_modal_projector.x", "F16", {2}, 4}};
  const Checkpoint file = dir.open();
  CHECK(file.find_string("general.architecture") == "llama");
  REQUIRE(file.tensors().size() == 1);
  CHECK(file.tensors()[0].name == "token_embd.weight");
}

TEST_CASE("layers that predict further tokens are ignored") {
  const test::Stored norm{"model.layers.1.input_layernorm.weight", "F32", {2}, 8};
  test::TinyDirectory dir;
  dir.config["num_nextn_predict_layers"] = 1;
  dir.tensors.push_back(norm);
  CHECK(dir.open().tensors().size() == 1);
}

TEST_CASE("longrope has two sets of divisors") {
  const auto read = [](const Json& more, std::int64_t n) {
    test::TinyDirectory dir;
    Json scaling = {{"type", "longrope"},
                    {"long_factor", std::vector<double>(static_cast<std::size_t>(n), 4.0)},
                    {"short_factor", std::vector<double>(8, 1.5)}};
    scaling.update(more);
    dir.config.update({{"model_type", "phi3"},
                       {"original_max_position_embeddings", 16},
                       {"rope_scaling", scaling}});
    return dir.error() +
           (n == 8 ? std::to_string(*dir.open().find_float("phi3.rope.scaling.attn_factor")) : "");
  };
  CHECK(read(Json::object(), 8) == "1.224745");  // sqrt(1 + ln(64 / 16) / ln(16))
  CHECK(read({{"attention_factor", 2.0}}, 8) == "2.000000");
  CHECK(read(Json::object(), 7).find("'rope_scaling.long_factor' must be 8 numbers") !=
        std::string::npos);
}

}  // namespace weft
