// Keys that config.json does not have get the defaults of transformers' class of the model, in
// https://github.com/huggingface/transformers/tree/main/src/transformers/models.

#include <doctest/doctest.h>

#include "safetensors/config/config_texts.h"

namespace weft {
namespace {

using safetensors::Json;
using test::refusal_of;
using test::texts_of;
using test::with;

using Texts = std::map<std::string, std::string>;

// A configuration of the type with as few keys as there can be.
Json smallest(const std::string& type) {
  if (type == "gpt2") {
    return {{"model_type", type}, {"vocab_size", 8}, {"n_positions", 64},
            {"n_embd", 64},       {"n_layer", 4},    {"n_head", 4}};
  }
  if (type.ends_with("t5")) {
    return {{"model_type", type}, {"vocab_size", 8}, {"d_model", 64}, {"num_layers", 2},
            {"d_ff", 64},         {"num_heads", 4},  {"d_kv", 16}};
  }
  Json config = {{"model_type", type},       {"vocab_size", 8},
                 {"hidden_size", 64},        {"num_hidden_layers", 4},
                 {"num_attention_heads", 4}, {"max_position_embeddings", 4096}};
  if (type != "falcon") config["intermediate_size"] = 64;
  for (const char* name : {"num_experts", "num_experts_per_tok", "moe_intermediate_size"}) {
    if (type.ends_with("_moe")) config[name] = 4;
  }
  if (type == "qwen2_moe") config["shared_expert_intermediate_size"] = 4;
  if (type.starts_with("deepseek")) {
    for (const char* name : {"kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"})
      config[name] = 4;
  }
  return config;
}

struct Class {
  std::string type;
  Texts texts;  // without "ARCH."
};

const Class kClasses[] = {
    {"llama", {{"attention.head_count_kv", "4"}, {"attention.layer_norm_rms_epsilon", "1e-06"}}},
    {"mistral", {{"attention.head_count_kv", "8"}}},
    {"mixtral",
     {{"attention.head_count_kv", "8"},
      {"attention.layer_norm_rms_epsilon", "1e-05"},
      {"rope.freq_base", "1000000"},
      {"expert_count", "8"},
      {"expert_used_count", "2"}}},
    {"qwen2", {{"attention.head_count_kv", "32"}}},
    {"qwen2_moe", {{"attention.head_count_kv", "16"}, {"expert_weights_norm", "false"}}},
    {"qwen3", {{"attention.head_count_kv", "32"}, {"attention.key_length", "128"}}},
    {"qwen3_moe", {{"attention.head_count_kv", "4"}, {"expert_weights_norm", "false"}}},
    {"gemma", {{"attention.head_count_kv", "16"}, {"attention.value_length", "256"}}},
    {"gemma2",
     {{"attention.head_count_kv", "4"},
      {"attention.key_length", "256"},
      {"attention.scale", "0.0625"},
      {"attention.sliding_window", "4096"},
      {"attn_logit_softcapping", "50"},
      {"final_logit_softcapping", "30"}}},
    {"gemma3_text",
     {{"attention.head_count_kv", "4"},
      {"attention.sliding_window", "4096"},
      {"final_logit_softcapping", "0"},
      {"rope.freq_base", "1000000"}}},
    {"phi3", {{"attention.head_count_kv", "4"}, {"attention.layer_norm_rms_epsilon", "1e-05"}}},
    {"gpt2",
     {{"feed_forward_length", "256"},
      {"attention.layer_norm_epsilon", "1e-05"},
      {"hidden_activation", "gelu_new"}}},
    {"gpt_neox",
     {{"use_parallel_residual", "true"},
      {"hidden_activation", "gelu"},
      {"rope.dimension_count", "4"},
      {"attention.layer_norm_epsilon", "1e-05"}}},
    {"falcon",
     {{"attention.head_count_kv", "1"},
      {"feed_forward_length", "256"},
      {"hidden_activation", "gelu"},
      {"attention.layer_norm_epsilon", "1e-05"}}},
    {"olmo2", {{"attention.layer_norm_rms_epsilon", "1e-05"}}},
    {"olmo3",
     {{"attention.layer_norm_rms_epsilon", "1e-05"},
      {"attention.sliding_window", "4096"},
      {"rope.freq_base", "500000"}}},
    {"starcoder2", {{"attention.head_count_kv", "2"}, {"attention.layer_norm_epsilon", "1e-05"}}},
    {"granite",
     {{"embedding_scale", "1"},
      {"residual_scale", "1"},
      {"attention.scale", "1"},
      {"logit_scale", "1"}}},
    {"granitemoe", {{"expert_count", "8"}, {"expert_used_count", "2"}, {"logit_scale", "1"}}},
    {"deepseek_v3",
     {{"expert_used_count", "8"},
      {"leading_dense_block_count", "3"},
      {"expert_group_count", "8"},
      {"expert_group_used_count", "4"},
      {"expert_weights_scale", "2.5"},
      {"expert_weights_norm", "true"},
      {"expert_gating_func", "2"}}},
    {"bert", {{"attention.layer_norm_epsilon", "1e-12"}, {"hidden_activation", "gelu"}}},
    {"xlm-roberta", {{"attention.layer_norm_epsilon", "1e-12"}, {"context_length", "4094"}}},
    {"modernbert",
     {{"attention.sliding_window", "128"},
      {"attention.sliding_window_pattern", "3"},
      {"rope.freq_base", "160000"},
      {"rope.freq_base_swa", "10000"}}},
    {"t5", {{"attention.layer_norm_rms_epsilon", "1e-06"}, {"decoder_block_count", "2"}}},
};

bool is_tied(const Json& config) {
  test::TextSink sink;
  const std::string file = "config.json";
  const Json parsed = Json::parse(config.dump());
  return safetensors::read_config(test::JsonObject(parsed, file), "", sink).tied;
}

}  // namespace

TEST_CASE("absent keys have the defaults of transformers' classes") {
  for (const Class& c : kClasses) {
    INFO(c.type);
    Texts texts = texts_of(smallest(c.type));
    const std::string arch = texts.at("general.architecture");
    for (const auto& [key, value] : c.texts) {
      INFO(key);
      CHECK(texts[arch + "." + key] == value);
    }
  }
}

TEST_CASE("tie_word_embeddings has the default of the class if it is absent") {
  for (const std::string type : {"llama", "mixtral", "qwen2", "qwen3", "phi3", "gpt_neox", "olmo2",
                                 "granite", "deepseek_v3", "mt5", "umt5"}) {
    INFO(type);
    CHECK_FALSE(is_tied(smallest(type)));
  }
  for (const std::string type :
       {"gemma", "gemma2", "gemma3_text", "gpt2", "falcon", "starcoder2", "bert", "t5"}) {
    INFO(type);
    CHECK(is_tied(smallest(type)));
  }
}

TEST_CASE("what T5 does with its table of embeddings, in files of transformers 4 and 5") {
  CHECK_FALSE(is_tied(with(smallest("t5"), "tie_word_embeddings", false)));
  const Json newer = with(smallest("t5"), "tie_word_embeddings", true);
  CHECK(is_tied(newer));
  CHECK(is_tied(with(newer, "scale_decoder_outputs", true)));
  CHECK_FALSE(is_tied(with(newer, "scale_decoder_outputs", false)));
  CHECK(refusal_of(with(smallest("umt5"), "tie_word_embeddings", true)) ==
        "config.json: 'tie_word_embeddings' is true, which is not supported");
}

TEST_CASE("null is not the same as absent") {
  const Json gemma2 = smallest("gemma2");
  CHECK(texts_of(with(gemma2, "attn_logit_softcapping", nullptr))
            .at("gemma2.attn_logit_softcapping") == "0");
  CHECK(texts_of(with(smallest("mixtral"), "num_key_value_heads", nullptr))
            .at("llama.attention.head_count_kv") == "4");
  const Json mistral = with(smallest("mistral"), "max_position_embeddings", 32768);
  CHECK(refusal_of(with(mistral, "sliding_window", nullptr)) == "");
  CHECK(refusal_of(mistral) == "config.json: 'sliding_window' is 4096, which is not supported");
}

TEST_CASE("a count of 0 is blamed on its own key") {
  for (const char* key :
       {"num_key_value_heads", "num_attention_heads", "num_hidden_layers", "hidden_size",
        "intermediate_size", "max_position_embeddings", "vocab_size"}) {
    CHECK(refusal_of(with(smallest("llama"), key, 0)) ==
          fmt::format("config.json: '{}' must be at least 1, got 0", key));
  }
  CHECK(refusal_of(with(smallest("gpt2"), "n_head", 0)) ==
        "config.json: 'n_head' must be at least 1, got 0");
}

TEST_CASE("windows are used as transformers' classes use them") {
  const auto windowed = [](const char* type) {
    return with(with(smallest(type), "max_position_embeddings", 32768), "sliding_window", 4096);
  };
  const std::string refused = "config.json: 'sliding_window' is 4096, which is not supported";
  CHECK(refusal_of(windowed("qwen2")) == "");  // use_sliding_window is false
  CHECK(refusal_of(with(windowed("qwen2"), "use_sliding_window", true)) == refused);
  CHECK(refusal_of(with(windowed("qwen3_moe"), "use_sliding_window", true)) ==
        "config.json: 'use_sliding_window' is true, which is not supported");
  CHECK(refusal_of(with(windowed("mistral"), "use_sliding_window", false)) == refused);
  CHECK(refusal_of(with(windowed("llama"), "use_sliding_window", false)) == "");
  CHECK_FALSE(texts_of(windowed("olmo2")).contains("olmo2.attention.sliding_window"));
}

TEST_CASE("settings of another class of the same architecture are refused") {
  Json v2 = smallest("deepseek_v2");
  v2["num_experts_per_tok"] = 2;
  CHECK(refusal_of(with(v2, "norm_topk_prob", true)) ==
        "config.json: 'norm_topk_prob' is true, which is not supported");
  CHECK(refusal_of(with(v2, "topk_method", "noaux_tc")) ==
        "config.json: 'topk_method' is \"noaux_tc\", which is not supported");
  CHECK(refusal_of(with(smallest("deepseek_v3"), "scoring_func", "softmax")) ==
        "config.json: 'scoring_func' is \"softmax\", which is not supported");
  // Groups of experts have no effect on V2's greedy choice.
  Texts texts = texts_of(with(with(v2, "n_group", 8), "topk_group", 3));
  CHECK_FALSE(texts.contains("deepseek2.expert_group_count"));
  CHECK(texts.at("deepseek2.leading_dense_block_count") == "0");
  CHECK(texts.at("deepseek2.expert_gating_func") == "1");
}

TEST_CASE("absent keys whose defaults Weft does not support are refused by name") {
  Json nomic = {{"model_type", "nomic_bert"},
                {"vocab_size", 8},
                {"n_positions", 64},
                {"n_embd", 64},
                {"n_layer", 2},
                {"n_head", 4},
                {"n_inner", 64},
                {"rotary_emb_base", 1000},
                {"layer_norm_epsilon", 1e-12}};
  CHECK(refusal_of(nomic) ==
        "config.json: 'activation_function' is missing, which is supported only if it is "
        "\"swiglu\"");
  nomic["activation_function"] = "swiglu";
  CHECK(refusal_of(nomic) ==
        "config.json: 'rotary_emb_fraction' must be above 0, at most 1, got nothing");
}

TEST_CASE("classes that are bidirectional by name are not causal") {
  const auto named = [](const char* type, const char* name) {
    return with(smallest(type), "architectures", {name});
  };
  const Json llama = named("llama", "LlamaBidirectionalModel");
  CHECK(texts_of(llama).at("llama.attention.causal") == "false");
  CHECK(texts_of(with(llama, "is_causal", false)).at("llama.attention.causal") == "false");
  CHECK_FALSE(texts_of(named("llama", "LlamaForCausalLM")).contains("llama.attention.causal"));
  const std::string refused =
      "config.json: 'architectures' is \"LlamaBidirectionalModel\", which is not supported";
  CHECK(refusal_of(with(llama, "is_causal", true)) == refused);
  CHECK(refusal_of(named("gemma2", "LlamaBidirectionalModel")) == refused);
  CHECK(texts_of(named("bert", "BertBidirecModel")).at("bert.attention.causal") == "false");
}

TEST_CASE("settings of rope of ModernBERT, in their old and new forms") {
  const Json modern = smallest("modernbert");
  const auto bases = [](const Json& config) {
    const Texts texts = texts_of(config);
    return texts.at("modern-bert.rope.freq_base") + " " +
           texts.at("modern-bert.rope.freq_base_swa");
  };
  const Json old = with(modern, "global_rope_theta", 80000);
  CHECK(bases(old) == "80000 10000");
  CHECK(bases(with(old, "local_rope_theta", nullptr)) == "80000 80000");
  const Json parameters = {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 70000.0}}},
                           {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 20.0}}}};
  CHECK(bases(with(old, "rope_parameters", parameters)) == "70000 20");
  CHECK(refusal_of(with(old, "rope_theta", 20)) ==
        "config.json: 'rope_theta' is 20, which is not supported");
}

TEST_CASE("heads of keys of Falcon, in its old and new forms") {
  const Json falcon = smallest("falcon");
  const auto heads = [](const Json& config) {
    return texts_of(config).at("falcon.attention.head_count_kv");
  };
  const Json grouped = with(falcon, "new_decoder_architecture", true);
  CHECK(heads(grouped) == "4");
  CHECK(heads(with(grouped, "num_kv_heads", 2)) == "2");
  CHECK(heads(with(with(falcon, "multi_query", false), "num_kv_heads", 2)) == "4");
  CHECK(heads(with(with(falcon, "model_type", "RefinedWeb"), "n_head_kv", 2)) == "2");
}

}  // namespace weft
