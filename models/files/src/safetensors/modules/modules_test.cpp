#include "safetensors/modules/modules.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/files/weft_keys.h"

#include "safetensors/tiny_directory.h"

namespace weft {
namespace {

using test::holds;
using test::Json;
using test::stored_file;
using test::TinyDirectory;

// A directory with modules.json; classes without a dot are those of sentence_transformers.models.
struct ModulesDirectory : TinyDirectory {
  ModulesDirectory() { add("", "Transformer"); }

  void add(const std::string& path, const std::string& type, const Json& about = {}) {
    const std::string name =
        type.find('.') == std::string::npos ? "sentence_transformers.models." + type : type;
    modules.push_back({{"idx", modules.size()}, {"path", path}, {"type", name}});
    if (!path.empty()) std::filesystem::create_directory(this->path() + "/" + path);
    if (!about.is_null()) write(path + "/config.json", about.dump());
  }
  // W [2, 32] or as given.
  void add_dense(const std::string& path, Json about = {}, std::int64_t n_out = 2,
                 std::int64_t n_in = 32) {
    about.update(Json{{"in_features", n_in}, {"out_features", n_out}});
    add(path, "Dense", about);
    const auto n = static_cast<std::size_t>(n_out);
    std::vector<test::Stored> stored = {
        {"linear.weight", "F32", {n_out, n_in}, n * static_cast<std::size_t>(n_in) * 4}};
    if (about.value("bias", true)) stored.push_back({"linear.bias", "F32", {n_out}, n * 4});
    write(path + "/model.safetensors", stored_file(stored));
  }
  std::string error() const {
    write("modules.json", modules.dump());
    return TinyDirectory::error();
  }
  Checkpoint open() const {
    write("modules.json", modules.dump());
    return TinyDirectory::open();
  }
  Json modules = Json::array();
};

const Json kMean = {{"word_embedding_dimension", 32}, {"pooling_mode_mean_tokens", true}};
constexpr const char* kIdentity = "torch.nn.modules.linear.Identity";

TEST_CASE("modules.json says where pooling is, and which dense layers follow") {
  ModulesDirectory dir;
  dir.add("Pool", "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
          {{"embedding_dimension", 32}, {"pooling_mode", "lasttoken"}});
  dir.add_dense("2_Dense");
  dir.add_dense("3_Dense", {{"bias", false}, {"activation_function", kIdentity}}, 5, 2);
  dir.add("4_Normalize", "Normalize");
  const Checkpoint file = dir.open();
  CHECK(file.find_uint("llama.pooling_type") == 3);
  CHECK(*file.find_strings(kDenseActivationsKey) ==
        std::vector<std::string_view>{"tanh", "identity"});
  CHECK(file.find_tensor("dense_2.weight")->spec == TensorSpec{f32, {2, 32}});
  CHECK(file.find_tensor("dense_2.bias")->spec == TensorSpec{f32, {2}});
  CHECK(file.find_tensor("dense_3.weight")->spec == TensorSpec{f32, {5, 2}});
  CHECK(!file.find_tensor("dense_3.bias"));
  const auto part = static_cast<std::size_t>(file.find_tensor("dense_3.weight")->part);
  CHECK(holds(file.part_paths()[part], "3_Dense"));
}

TEST_CASE("pooling has an old form and a new one, and several modes are concatenated") {
  const auto pooling = [](const Json& about, const char* own, std::optional<std::uint64_t> type) {
    CAPTURE(about.dump());
    TinyDirectory dir;
    std::filesystem::create_directory(dir.path() + "/1_Pooling");
    dir.write("1_Pooling/config.json", about.dump());
    const Checkpoint file = dir.open();
    CHECK(file.find_uint("llama.pooling_type") == type);
    CHECK(file.find_string(kPoolingKey).value_or("") == own);
  };
  pooling({{"pooling_mode_cls_token", true}}, "", 2);
  pooling({{"pooling_mode", "mean"}, {"include_prompt", false}}, "", 1);
  pooling({{"pooling_mode", {"lasttoken"}}}, "", 3);
  pooling({{"pooling_mode", "cls"}, {"pooling_mode_mean_tokens", true}}, "", 2);
  pooling({{"pooling_mode_mean_tokens", false}}, "", 1);  // the mean, as sentence-transformers do
  pooling({{"pooling_mode", "max"}}, "max", {});
  pooling({{"pooling_mode", {"mean_sqrt_len_tokens", "cls"}}}, "mean_sqrt_len+cls", {});
  Json all;
  for (const char* mode : {"mean_tokens", "lasttoken", "weightedmean_tokens", "cls_token",
                           "mean_sqrt_len_tokens", "max_tokens"})
    all[std::string("pooling_mode_") + mode] = true;
  pooling(all, "cls+max+mean+mean_sqrt_len+weighted_mean+last", {});

  const auto refused = [](const Json& mode, const std::string& text) {
    TinyDirectory dir;
    std::filesystem::create_directory(dir.path() + "/1_Pooling");
    dir.write("1_Pooling/config.json", Json{{"pooling_mode", mode}}.dump());
    CHECK(holds(dir.error(), "DIR/1_Pooling/config.json: " + text));
  };
  refused("median", "unknown 'pooling_mode' 'median' (known: cls, max, mean");
  refused(Json::array(), "'pooling_mode' must be a name or a list of at most 6 names");
  refused({1}, "'pooling_mode' must be a name or a list of names");
  refused(true, "'pooling_mode' must be a name or a list of names");
}

TEST_CASE("vectors are as long as the module Normalize makes them") {
  ModulesDirectory dir;
  dir.add("1_Pooling", "Pooling", kMean);
  CHECK(dir.open().find_bool(kNormalizeKey) == false);
  dir.add("2_Normalize", "sentence_transformers.base.modules.normalize.Normalize");
  CHECK(!dir.open().find_bool(kNormalizeKey));
  CHECK(!ModulesDirectory().open().find_bool(kNormalizeKey));  // it is not for embeddings
}

TEST_CASE("sentence_bert_config.json says how long texts are, and whether they are lowercased") {
  const auto with = [](const Json& about, TinyDirectory& dir) {
    dir.write("modules.json", R"([{"type": "sentence_transformers.models.Transformer"}])");
    dir.write("sentence_roberta_config.json", about.dump());
  };
  {
    TinyDirectory dir;
    with({{"max_seq_length", 48}, {"do_lower_case", false}}, dir);
    CHECK(dir.open().find_uint(kMaxTokensKey) == 48);
  }
  // The setting of tokenizer_config.json for the same name does not undo it.
  for (const auto& [accents, own] :
       {std::pair(Json(), false), std::pair(Json(true), false), std::pair(Json(), true)}) {
    TinyDirectory dir;
    with({{"max_seq_length", nullptr}, {"do_lower_case", true}}, dir);
    if (own) dir.tokenizer_config["do_lower_case"] = false;
    dir.tokenizer = {
        {"model", {{"type", "WordPiece"}, {"vocab", {{"a", 0}, {"b", 1}}}, {"unk_token", "a"}}},
        {"normalizer",
         {{"type", "BertNormalizer"}, {"lowercase", own}, {"strip_accents", accents}}},
        {"pre_tokenizer", {{"type", "BertPreTokenizer"}}}};
    const Checkpoint file = dir.open();
    CHECK(!file.find_uint(kMaxTokensKey));
    CHECK(file.find_bool("tokenizer.ggml.normalizer.lowercase") == true);
    CHECK(file.find_bool("tokenizer.ggml.normalizer.strip_accents") == !accents.is_null());
  }
  const auto refused = [&](const Json& about, const std::string& text) {
    TinyDirectory dir;
    with(about, dir);
    CHECK(dir.error() == "DIR/sentence_roberta_config.json: " + text);
  };
  refused({{"do_lower_case", true}}, "'do_lower_case' needs a tokenizer with a BertNormalizer");
  refused({{"max_seq_length", 0}}, "'max_seq_length' must be a number of tokens, got 0");
  refused({{"modality_config", {{"text", {{"method_output_name", "pooler_output"}}}}}},
          "'modality_config.text.method_output_name' 'pooler_output' is not supported (supported: "
          "'last_hidden_state')");
}

TEST_CASE("a dense layer without pooling follows every token") {
  ModulesDirectory dir;
  dir.add_dense("1_Dense", {{"module_input_name", "token_embeddings"}});
  dir.add("2_Normalize", "Normalize", {{"module_input_name", "token_embeddings"}});
  CHECK(dir.open().find_uint("llama.pooling_type") == 0);
  ModulesDirectory other;
  other.add_dense("1_Dense");
  CHECK(holds(other.error(), "'module_input_name' must be 'token_embeddings' without Pooling"));
  CHECK(!ModulesDirectory().open().find_uint("llama.pooling_type"));
}

TEST_CASE("the model may be in a folder of its own, and modules may do nothing") {
  TinyDirectory files;
  files.open();
  ModulesDirectory dir;
  const std::string folder = dir.path() + "/0_Transformer";
  std::filesystem::copy(files.path(), folder);
  dir.modules[0]["path"] = "0_Transformer";
  dir.add("1_Pooling", "Pooling", kMean);
  dir.add("2_Dropout", "Dropout", {{"dropout", 0.1}});
  dir.write("modules.json", dir.modules.dump());
  const Checkpoint file = Checkpoint::open(dir.path());
  CHECK(file.find_uint("llama.pooling_type") == 1);
  CHECK(file.part_paths()[1] == folder + "/model.safetensors");
  CHECK(holds(dir.path(), std::string(*file.find_string("general.name"))));

  ModulesDirectory reranker;
  reranker.add("1_LogitScore", "sentence_transformers.cross_encoder.modules.logit_score.LogitScore",
               {{"true_token_id", 3}, {"false_token_id", 1}});
  CHECK(!reranker.open().find_uint("llama.pooling_type"));
  CHECK(!reranker.open().find_tensor("cls.output.weight"));  // the prompt is not known
}

TEST_CASE("a Qwen 3 that ranks by its logits has a classifier of two rows") {
  const auto opened = [](const Json& config, std::string& error) {
    ModulesDirectory dir;
    dir.config["model_type"] = "qwen3";
    dir.add("1_LogitScore", "LogitScore", config);
    error = dir.error();
    return error.empty() ? std::optional(dir.open()) : std::nullopt;
  };
  std::string error;
  const auto both = opened({{"true_token_id", 3}, {"false_token_id", 1}}, error);
  REQUIRE(both);
  const CheckpointTensor* rows = both->find_tensor("cls.output.weight");
  const CheckpointTensor* table = both->find_tensor("token_embd.weight");
  REQUIRE(rows);
  REQUIRE(rows->spec.shape == Shape{2, table->spec.shape.last()});
  std::vector<std::byte> got(static_cast<std::size_t>(rows->n_bytes)), want(got.size());
  copy_rows(*rows, 0, 2, got.data());
  copy_rows(*table, 3, 4, want.data());
  copy_rows(*table, 1, 2, want.data() + rows->row_bytes());
  CHECK(got == want);
  CHECK(both->find_strings("qwen3.classifier.output_labels")->size() == 2);
  CHECK(holds(std::string(*both->find_string("tokenizer.chat_template.rerank")), "{document}"));
  REQUIRE(opened({{"true_token_id", 3}}, error));
  opened({{"true_token_id", 4}}, error);
  CHECK(holds(error, "names token 4, the model has 4 tokens"));
  opened({{"false_token_id", 1}}, error);
  CHECK(holds(error, "'true_token_id' is missing"));
  opened({{"true_token_id", 3}, {"module_input_name", "x"}}, error);
  CHECK(holds(error, "'module_input_name' is 'x'"));
}

TEST_CASE("layers without an activation need no key") {
  ModulesDirectory dir;
  dir.add("1_Pooling", "Pooling", kMean);
  dir.add_dense("2_Dense", {{"activation_function", kIdentity}});
  CHECK(!dir.open().find_strings(kDenseActivationsKey));
}

TEST_CASE("modules that cannot be computed are refused by name") {
  const auto refused = [](const std::string& type, const Json& config, const std::string& text) {
    ModulesDirectory dir;
    dir.add("1_Pooling", "Pooling", kMean);
    dir.add("2_X", type, config);
    const std::string error = dir.error();
    INFO(error);
    CHECK(holds(error, text));
  };
  refused("LSTM", {},
          "DIR/modules.json: module 2 'LSTM': type 'sentence_transformers.models.LSTM'");
  refused("other.models.Dense", {}, "module 2 'Dense': type 'other.models.Dense' is not supported");
  refused("Pooling", kMean, "module 2 'Pooling': there is another Pooling before it");
  refused("Transformer", {}, "module 2 'Transformer': must be the first module");
  refused("Normalize", {{"module_input_name", "token_embeddings"}},
          "DIR/2_X/config.json: 'module_input_name' must be 'sentence_embedding' after Pooling");
  const Json dense = {{"in_features", 32}, {"out_features", 2}};
  const auto with = [&](const char* key, const Json& value) {
    Json config = dense;
    config[key] = value;
    return config;
  };
  refused("Dense", dense, "DIR/2_X: 'model.safetensors' is missing");
  refused("Dense", with("use_residual", true), "DIR/2_X/config.json: 'use_residual'");
  refused("Dense", with("in_features", 0), "'in_features' must be 1 to 1048576, got 0");
  refused("Dense", with("activation_function", "torch.nn.modules.activation.PReLU"),
          "'activation_function' 'torch.nn.modules.activation.PReLU' is not supported");
}

TEST_CASE("weights of a dense layer must fit its config.json") {
  const auto refused = [](const std::vector<test::Stored>& tensors, const std::string& text) {
    ModulesDirectory dir;
    dir.add("1_Pooling", "Pooling", kMean);
    dir.add_dense("2_Dense");
    dir.write("2_Dense/model.safetensors", stored_file(tensors));
    const std::string error = dir.error();
    INFO(error);
    CHECK(holds(error, "DIR/2_Dense/model.safetensors: tensor " + text));
  };
  const test::Stored weight = {"linear.weight", "F32", {2, 32}, 256},
                     bias = {"linear.bias", "F32", {2}, 8};
  refused({{"linear.weight", "F32", {32, 2}, 256}, bias},
          "'linear.weight' must be [2, 32], got [32, 2]");
  refused({weight}, "'linear.bias' is missing");
  refused({weight, bias, {"residual.weight", "F32", {2, 32}, 256}},
          "'residual.weight' is not supported");
  refused({{"linear.weight", "I32", {2, 32}, 256}, bias},
          "'linear.weight': dtype I32 is not supported");
}

TEST_CASE("modules.json itself may be wrong") {
  const auto refused = [](const std::string& json, const std::string& text) {
    TinyDirectory dir;
    dir.write("modules.json", json);
    CHECK(dir.error() == "DIR/modules.json: " + text);
  };
  refused("{}", "must be a list");
  refused("[]", "the list is empty");
  refused(R"([{"path": ""}])", "'[0].type' must be the name of a class, got nothing");
  refused(R"([{"type": "sentence_transformers.models.Normalize"}])",
          "module 0 'Normalize': the first module must be a Transformer");
  refused(R"([{"type": "sentence_transformers.models.Transformer", "path": "../x"}])",
          "module 0 'Transformer': path '../x' must be below the directory");
}

}  // namespace
}  // namespace weft
