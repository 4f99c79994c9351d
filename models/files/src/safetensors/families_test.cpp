// Every family with Hugging Face names: a made model, written back as the directory that it would
// be published as, reads as the same model.

#include <map>
#include <ranges>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/arch/made_source.h"
#include "weft/files/made_model.h"

#include "safetensors/config/publisher.h"
#include "safetensors/tiny_directory.h"

namespace weft {
namespace {

using safetensors::Json;

struct Family {
  std::string arch;
  Json config;
  std::map<std::string, arch::MadeSource::Value> keys = {};  // beyond the usual ones
  std::vector<std::string> optional = {};                    // endings of tensors
  arch::MadeSizes sizes = {};
};

const arch::Architecture& architecture(const std::string& name) {
  const auto all = arch::architectures();
  return **std::ranges::find(all, name, &arch::Architecture::name);
}

// The sizes of made models, as most families name them.
Json usual_config(const Json& more) {
  const arch::MadeSizes s;
  Json config = {{"vocab_size", s.V},          {"max_position_embeddings", s.context},
                 {"hidden_size", s.D},         {"num_hidden_layers", s.L},
                 {"intermediate_size", s.F},   {"num_attention_heads", s.H},
                 {"num_key_value_heads", s.G}, {"tie_word_embeddings", true}};
  config.update(more);
  return config;
}

void check_same(const Checkpoint& file, const Checkpoint& directory) {
  CHECK(directory.tensors().size() == file.tensors().size());
  for (const CheckpointTensor& tensor : file.tensors()) {
    INFO(std::string(tensor.name));
    const CheckpointTensor* got = directory.find_tensor(tensor.name);
    REQUIRE(got);
    REQUIRE(to_string(got->spec) == to_string(tensor.spec));
    std::vector<std::byte> a(static_cast<std::size_t>(tensor.n_bytes)), b = a;
    copy_rows(tensor, 0, tensor.n_rows(), a.data());
    for (std::int64_t r = 0; r < got->n_rows(); ++r)  // every row for itself
      copy_rows(*got, r, r + 1, b.data() + r * got->row_bytes());
    CHECK(a == b);
  }
  for (const MetaEntry& entry : file.metadata()) {
    INFO(std::string(entry.key));
    if (!entry.key.starts_with(*file.find_string("general.architecture"))) continue;
    REQUIRE(directory.find(entry.key));
    if (entry.value.type == MetaType::boolean)
      CHECK(directory.find_bool(entry.key) == file.find_bool(entry.key));
    else
      CHECK(directory.find_float(entry.key) == file.find_float(entry.key));
  }
}

void check_family(const Family& family) {
  INFO(family.arch, " ", family.config["model_type"].dump());
  arch::MadeSource source(family.arch, family.sizes);
  const bool rms = family.config.contains("rms_norm_eps") || family.arch == "t5";
  source.keys.erase(family.arch +
                    (rms ? ".attention.layer_norm_epsilon" : ".attention.layer_norm_rms_epsilon"));
  for (const auto& [key, value] : family.keys) source.set(key, value);
  source.optional_endings = family.optional;
  source.learn();
  test::TinyDirectory dir;
  const std::string path = dir.path() + "/made.gguf";
  write_made_model(source, path);
  const Checkpoint file = Checkpoint::open(path);
  dir.write("config.json", family.config.dump());
  dir.write("model.safetensors",
            test::Publisher(file, architecture(family.arch), family.sizes).model_file());
  check_same(file, Checkpoint::open(dir.path()));
}

constexpr std::int64_t kX = 4, kK = 2;  // experts, and those per token

}  // namespace

TEST_CASE("families whose layers are Llama's") {
  const auto config = [](const Json& more) {
    Json usual = usual_config({{"rms_norm_eps", 1e-5}});
    usual.update(more);
    return usual;
  };
  check_family({"llama", config({{"model_type", "llama"}})});
  check_family(
      {"llama",
       config({{"model_type", "mixtral"}, {"num_local_experts", kX}, {"num_experts_per_tok", kK}}),
       {{"expert_count", kX}, {"expert_used_count", kK}}});
  check_family({"qwen2", config({{"model_type", "qwen2"}}), {}, {"_q.bias", "_k.bias", "_v.bias"}});
  const std::map<std::string, arch::MadeSource::Value> experts = {
      {"expert_count", kX},
      {"expert_used_count", kK},
      {"expert_feed_forward_length", kX * 8},
      {"expert_weights_norm", true}};
  const Json experts_config = {{"num_experts", kX},
                               {"num_experts_per_tok", kK},
                               {"moe_intermediate_size", kX * 8},
                               {"norm_topk_prob", true},
                               {"shared_expert_intermediate_size", 24}};
  auto shared = experts;
  shared["expert_shared_feed_forward_length"] = std::int64_t{24};
  Json qwen2_moe = config({{"model_type", "qwen2_moe"}}), qwen3_moe = qwen2_moe;
  qwen2_moe.update(experts_config);
  check_family({"qwen2moe", qwen2_moe, shared, {"_shexp.weight"}});
  check_family(
      {"qwen3",
       config({{"model_type", "qwen3"}, {"head_dim", 32}}),
       {{"attention.key_length", std::int64_t{32}}, {"attention.value_length", std::int64_t{32}}}});
  qwen3_moe.update(experts_config);
  qwen3_moe["model_type"] = "qwen3_moe";
  qwen3_moe.erase("shared_expert_intermediate_size");
  check_family({"qwen3moe", qwen3_moe, experts});
  check_family({"olmo2", config({{"model_type", "olmo2"}})});
  check_family({"phi3", config({{"model_type", "phi3"}}), {}, {"attn_qkv.weight"}});
  const Json scales = {{"embedding_multiplier", 12.0},
                       {"residual_multiplier", 0.25},
                       {"attention_multiplier", 0.5},
                       {"logits_scaling", 8.0}};
  const std::map<std::string, arch::MadeSource::Value> scale_keys = {{"embedding_scale", 12.0},
                                                                     {"residual_scale", 0.25},
                                                                     {"attention.scale", 0.5},
                                                                     {"logit_scale", 8.0}};
  Json granite = config({{"model_type", "granite"}});
  granite.update(scales);
  check_family({"granite", granite, scale_keys});
  granite.update(
      {{"model_type", "granitemoe"}, {"num_local_experts", kX}, {"num_experts_per_tok", kK}});
  auto moe_keys = scale_keys;
  moe_keys["expert_count"] = kX;
  moe_keys["expert_used_count"] = kK;
  check_family({"granitemoe", granite, moe_keys});
}

TEST_CASE("the norms of Gemma are stored less 1") {
  const auto config = [](const Json& more) {
    Json usual = usual_config({{"rms_norm_eps", 1e-5},
                               {"head_dim", 32},
                               {"tie_word_embeddings", nullptr},
                               {"hidden_activation", "gelu_pytorch_tanh"},
                               {"query_pre_attn_scalar", 64}});
    usual.update(more);
    return usual;
  };
  const std::map<std::string, arch::MadeSource::Value> heads = {
      {"attention.key_length", std::int64_t{32}}, {"attention.value_length", std::int64_t{32}}};
  Json gemma = config({{"model_type", "gemma"}});
  gemma.erase("query_pre_attn_scalar");
  check_family({"gemma", gemma, heads});
  auto keys = heads;
  keys["attention.sliding_window"] = std::int64_t{16};
  keys["attention.scale"] = 0.125;
  keys["final_logit_softcapping"] = 30.0;
  const Json windows = {{"sliding_window", 16}, {"final_logit_softcapping", 30.0}};
  Json gemma2 = config({{"model_type", "gemma2"}}),
       gemma3 = config({{"model_type", "gemma3_text"}});
  gemma2.update(windows);
  check_family({"gemma2", gemma2, keys});
  gemma3.update(windows);
  gemma3["sliding_window_pattern"] = 2;
  keys["attention.sliding_window_pattern"] = std::int64_t{2};
  keys["rope.freq_base"] = 1e6;
  gemma3["rope_theta"] = 1e6;
  check_family({"gemma3", gemma3, keys});
  keys.erase("final_logit_softcapping");
  gemma3.update({{"use_bidirectional_attention", true}, {"final_logit_softcapping", nullptr}});
  check_family({"gemma-embedding", gemma3, keys});
}

TEST_CASE("matrices that are transposed, or have q, k and v head by head") {
  const arch::MadeSizes all_heads{.H = 4, .G = 4};
  check_family({"gpt2",
                {{"model_type", "gpt2"},
                 {"vocab_size", 50},
                 {"n_positions", 256},
                 {"n_embd", 64},
                 {"n_layer", 2},
                 {"n_head", 4},
                 {"n_inner", 96},
                 {"activation_function", "gelu_new"}},
                {},
                {".bias", "attn_qkv.weight"},
                all_heads});
  Json neox = usual_config({{"model_type", "gpt_neox"}, {"hidden_act", "gelu"}});
  neox.erase("num_key_value_heads");
  check_family({"gptneox",
                neox,
                {{"rope.dimension_count", std::int64_t{4}}, {"use_parallel_residual", true}},
                {".bias", "attn_qkv.weight"},
                all_heads});
  const std::vector<std::string> falcon = {"_norm.bias", "attn_norm_2.weight", "attn_norm_2.bias",
                                           "attn_qkv.weight"};
  const auto falcon_config = [](const Json& more) {
    Json config = usual_config({{"model_type", "falcon"}, {"ffn_hidden_size", 96}});
    config.erase("intermediate_size");
    config.erase("num_key_value_heads");
    config.update(more);
    return config;
  };
  check_family({"falcon",
                falcon_config({{"num_kv_heads", 2}, {"new_decoder_architecture", true}}),
                {},
                falcon});
  check_family({"falcon",
                falcon_config({{"num_kv_heads", 71}, {"multi_query", true}}),
                {},
                falcon,
                {.G = 1}});
  check_family({"starcoder2",
                usual_config({{"model_type", "starcoder2"}, {"hidden_act", "gelu_pytorch_tanh"}}),
                {},
                {".bias"}});
}

TEST_CASE("one matrix of latent attention becomes those of keys and of values") {
  const auto n = [](std::int64_t value) { return value; };
  check_family({"deepseek2",
                usual_config({{"model_type", "deepseek_v3"},
                              {"rms_norm_eps", 1e-5},
                              {"kv_lora_rank", 24},
                              {"q_lora_rank", 32},
                              {"qk_nope_head_dim", 16},
                              {"qk_rope_head_dim", 8},
                              {"v_head_dim", 12},
                              {"n_routed_experts", kX},
                              {"num_experts_per_tok", kK},
                              {"moe_intermediate_size", 32},
                              {"n_shared_experts", 1},
                              {"first_k_dense_replace", 1},
                              {"scoring_func", "sigmoid"},
                              {"topk_method", "noaux_tc"},
                              {"norm_topk_prob", true},
                              {"routed_scaling_factor", 2.5}}),
                {{"attention.kv_lora_rank", n(24)},
                 {"attention.q_lora_rank", n(32)},
                 {"rope.dimension_count", n(8)},
                 {"attention.key_length", n(32)},
                 {"attention.value_length", n(24)},
                 {"attention.key_length_mla", n(24)},
                 {"attention.value_length_mla", n(12)},
                 {"expert_count", kX},
                 {"expert_used_count", kK},
                 {"expert_feed_forward_length", n(32)},
                 {"expert_shared_count", n(1)},
                 {"leading_dense_block_count", n(1)},
                 {"expert_gating_func", n(2)},
                 {"expert_weights_norm", true},
                 {"expert_weights_scale", 2.5}},
                {"exp_probs_b.bias"},
                {.G = 1}});
}

TEST_CASE("encoders, and an encoder with a decoder") {
  const arch::MadeSizes all_heads{.H = 4, .G = 4};
  Json bert =
      usual_config({{"model_type", "bert"}, {"hidden_act", "gelu"}, {"layer_norm_eps", 1e-5}});
  bert.erase("num_key_value_heads");
  check_family({"bert", bert, {{"attention.causal", false}}, {".bias"}, all_heads});
  check_family({"nomic-bert",
                {{"model_type", "nomic_bert"},
                 {"vocab_size", 50},
                 {"n_positions", 256},
                 {"n_embd", 64},
                 {"n_layer", 2},
                 {"n_head", 4},
                 {"n_inner", 96},
                 {"layer_norm_epsilon", 1e-5},
                 {"rotary_emb_base", 1000.0},
                 {"rotary_emb_fraction", 1.0},
                 {"activation_function", "swiglu"}},
                {{"attention.causal", false}, {"rope.freq_base", 1000.0}},
                {"_norm.bias", "attn_qkv.weight"},
                all_heads});
  check_family({"t5",
                {{"model_type", "t5"},
                 {"vocab_size", 50},
                 {"n_positions", 256},
                 {"d_model", 64},
                 {"d_kv", 16},
                 {"d_ff", 96},
                 {"num_layers", 2},
                 {"num_heads", 4},
                 {"layer_norm_epsilon", 1e-5},
                 {"feed_forward_proj", "gated-gelu"}},
                {},
                {"ffn_gate.weight"},
                all_heads});
}

}  // namespace weft
