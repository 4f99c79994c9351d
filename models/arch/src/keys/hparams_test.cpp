#include "weft/arch/hparams.h"

#include <cmath>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "weft/arch/builder.h"
#include "weft/base/error.h"
#include "weft/ops/formats/q8_0.h"

#include "support/made_source.h"

using namespace weft;
using namespace weft::arch;
using weft::test::tiny_source;

namespace {

Hparams read(const MadeSource& source) {
  return *configure(source, find_architecture(source));
}

// The message for a llama file with `key` set to `value`.
std::string message(const std::string& key, MadeSource::Value value) {
  MadeSource source = tiny_source("llama");
  source.set(key, std::move(value));
  try {
    read(source);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

std::string bad(const std::string& key, const std::string& rest) {
  return "tiny.gguf: key 'llama." + key + "' is " + rest;
}

}  // namespace

TEST_CASE("hyper-parameters and their defaults") {
  const Hparams c = read(tiny_source("llama"));
  CHECK(c.L == 2);
  CHECK(c.D == 64);
  CHECK(c.layer(1).H == 4);
  CHECK(c.layer(1).G == 2);
  CHECK(c.layer(1).E == 16);
  CHECK(c.layer(1).Ev == 16);
  CHECK(c.layer(1).F == 96);
  CHECK(c.V == 50);
  CHECK(c.context == 256);
  CHECK(c.rope.n_rot == 16);
  CHECK(c.rope.base == 10000);
  CHECK(c.rope.freq_scale == 1);
  CHECK(c.rope.ext_factor == 0);
  CHECK(c.rope.attn_factor == 1);
  CHECK(c.rope.original_context == 256);

  MadeSource source = tiny_source("llama");
  source.keys.erase("llama.attention.head_count_kv");
  source.keys["llama.attention.key_length"] = 32;
  const Hparams wide = read(source);
  CHECK(wide.layer(0).G == 4);
  CHECK(wide.layer(0).E == 32);
  CHECK(wide.rope.n_rot == 32);
}

TEST_CASE("the vocabulary is as long as the tokens, or as vocab_size says") {
  MadeSource source = tiny_source("llama");
  source.keys["tokenizer.ggml.tokens"] = std::vector<std::int64_t>(77);
  CHECK(read(source).V == 77);
}

TEST_CASE("rope scaling") {
  MadeSource source = tiny_source("qwen2");
  source.keys["qwen2.rope.scale_linear"] = 2.0;
  CHECK(read(source).rope.freq_scale == 0.5f);
  source.keys["qwen2.rope.scaling.factor"] = 4.0;
  CHECK(read(source).rope.freq_scale == 0.25f);
  source.keys["qwen2.rope.scaling.type"] = std::string("none");
  CHECK(read(source).rope.freq_scale == 1);
  source.keys["qwen2.rope.scaling.type"] = std::string("yarn");
  source.keys["qwen2.rope.scaling.original_context_length"] = 64;
  source.keys["qwen2.rope.scaling.yarn_beta_fast"] = 16.0;
  const Hparams yarn = read(source);
  CHECK(yarn.rope.freq_scale == 0.25f);
  CHECK(yarn.rope.ext_factor == 1);
  CHECK(yarn.rope.beta_fast == 16);
  CHECK(yarn.rope.beta_slow == 1);
  CHECK(yarn.rope.original_context == 64);
  source.keys["qwen2.rope.scaling.type"] = std::string("ntk");
  CHECK_THROWS_WITH_AS(
      read(source),
      "tiny.gguf: key 'qwen2.rope.scaling.type' is 'ntk' (known: none, linear, yarn, longrope)",
      UnsupportedError);
}

TEST_CASE("numbers out of range are rejected with file, key, value and range") {
  CHECK(message("block_count", 4294967295) == bad("block_count", "4294967295, must be 1..4096"));
  CHECK(message("embedding_length", 0) == bad("embedding_length", "0, must be 1..16777216"));
  CHECK(message("context_length", 0) == bad("context_length", "0, must be 1..2147483647"));
  CHECK(message("feed_forward_length", -1) ==
        bad("feed_forward_length", "-1, must be 1..16777216"));
  CHECK(message("attention.head_count", 2147483648) ==
        bad("attention.head_count", "2147483648, must be 1..65536"));
  CHECK(message("attention.head_count_kv", 3) ==
        bad("attention.head_count_kv", "3, must be a divisor of the 4 heads"));
  CHECK(message("attention.head_count", 6) ==
        bad("attention.head_count", "6, must be a divisor of the embedding length 64"));
  CHECK(message("rope.dimension_count", 15) == bad("rope.dimension_count", "15, must be even"));
  CHECK(message("rope.dimension_count", 18) ==
        bad("rope.dimension_count", "18, must be at most the 16 elements of a head"));
  CHECK(message("rope.dimension_count", 8) ==
        bad("rope.dimension_count", "8, must be the 16 elements of a head"));
  CHECK(message("rope.freq_base", std::nan("")) ==
        bad("rope.freq_base", "nan, must be within 0.001..1e+18"));
  CHECK(message("rope.scaling.factor", -2.0) ==
        bad("rope.scaling.factor", "-2, must be within 0..1000000"));
  CHECK(message("attention.layer_norm_rms_epsilon", 0.0) ==
        bad("attention.layer_norm_rms_epsilon", "0, must be within 1e-30..1"));
  CHECK(message("block_count", std::vector<std::int64_t>{2, 1}) ==
        "tiny.gguf: key 'llama.block_count' differs from layer to layer, must be one number");
  CHECK(message("block_count", std::vector<std::int64_t>{2, 2}) == "no error");
  CHECK(message("expert_count", 8) == "tiny.gguf: key 'llama.expert_used_count' is missing");
  CHECK(message("expert_count", -1) == bad("expert_count", "-1, must be 0..65536"));
}

TEST_CASE("experts: numbers that contradict each other are rejected, dense decoders take none") {
  using Keyed = std::map<std::string, MadeSource::Value>;
  const auto message = [](const std::string& arch, const Keyed& keys) -> std::string {
    MadeSource source(arch);
    source.path = "tiny.gguf";
    for (const auto& [key, value] : keys) source.set(key, value);
    try {
      configure(source, find_architecture(source));
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  CHECK(message("arcee", {{"expert_count", 8}}) ==
        "tiny.gguf: mixture of 8 experts (arcee.expert_count) is not supported");
  CHECK(message("qwen3moe", {{"expert_count", 8}, {"expert_used_count", 9}}) ==
        "tiny.gguf: key 'qwen3moe.expert_used_count' is 9, must be 1..8");
  CHECK(message("qwen3moe", {{"expert_count", 8}, {"expert_used_count", 2}}) ==
        "tiny.gguf: key 'qwen3moe.expert_feed_forward_length' is missing");
  const Keyed fits{
      {"expert_count", 8}, {"expert_used_count", 2}, {"expert_feed_forward_length", 32}};
  CHECK(message("qwen3moe", fits) == "no error");
  Keyed unknown = fits;
  unknown["expert_gating_func"] = 4;
  CHECK(message("qwen3moe", unknown) == "no error");
  unknown["expert_gating_func"] = 5;
  CHECK(message("qwen3moe", unknown) ==
        "tiny.gguf: key 'qwen3moe.expert_gating_func' is 5, must be 0 (not set), 1 (softmax), 2 "
        "(sigmoid), 3 (softmax of the chosen) or 4 (root of softplus)");
  Keyed grouped = fits;
  grouped["expert_group_count"] = 3;
  CHECK(message("qwen3moe", grouped) ==
        "tiny.gguf: key 'qwen3moe.expert_group_count' is 3, must be a divisor of 8 experts");
  grouped["expert_group_count"] = 8;
  grouped["expert_group_used_count"] = 1;
  CHECK(message("qwen3moe", grouped) ==
        "tiny.gguf: key 'qwen3moe.expert_used_count' is 2, must be at most the 1 experts of the "
        "groups that are used");
}

TEST_CASE("head counts and ffn widths may differ from layer to layer") {
  using Numbers = std::vector<std::int64_t>;
  MadeSource source = tiny_source("llama");
  source.keys["llama.attention.head_count_kv"] = Numbers{4, 1};
  source.keys["llama.feed_forward_length"] = Numbers{96, 160};
  const Hparams c = read(source);
  CHECK(c.layer(0).G == 4);
  CHECK(c.layer(1).G == 1);
  CHECK(c.layer(0).F == 96);
  CHECK(c.layer(1).F == 160);
  CHECK(c.layer(1).H == 4);
  CHECK(message("feed_forward_length", Numbers{96, 96, 96}) ==
        "tiny.gguf: key 'llama.feed_forward_length' has 3 numbers, must have one, or one for each "
        "of the 2 layers");
  CHECK(message("feed_forward_length", Numbers{96, 0}) ==
        bad("feed_forward_length", "0, must be 1..16777216"));
  CHECK(message("attention.head_count_kv", Numbers{4, 3}) ==
        bad("attention.head_count_kv", "3, must be a divisor of the 4 heads"));
}

TEST_CASE("required keys") {
  for (const char* key :
       {"context_length", "embedding_length", "block_count", "feed_forward_length", "vocab_size",
        "attention.head_count", "attention.layer_norm_rms_epsilon"}) {
    MadeSource source = tiny_source("llama");
    source.keys.erase("llama." + std::string(key));
    CHECK_THROWS_WITH_AS(read(source),
                         ("tiny.gguf: key 'llama." + std::string(key) + "' is missing").c_str(),
                         FormatError);
  }
}

TEST_CASE("made models have the whole numbers that their architecture requires") {
  MadeSource experts("gpt-oss");
  experts.learn();
  CHECK(experts.find_uint("gpt-oss.expert_count") == 4);
  CHECK(experts.find_uint("gpt-oss.expert_used_count") == 2);
  CHECK(experts.find_uint("gpt-oss.expert_feed_forward_length") == 64);
  CHECK(experts.find_tensor("blk.0.ffn_up_exps.weight")->shape == Shape{4, 64, 64});

  MadeSource latent("deepseek2");
  latent.keys["deepseek2.attention.kv_lora_rank"] = 48;
  latent.keys["deepseek2.rope.dimension_count"] = 4;
  latent.learn();
  CHECK(latent.find_uint("deepseek2.attention.kv_lora_rank") == 48);  // the caller's
  MadeSource unknown("deepseek2");
  unknown.learn();
  CHECK(unknown.find_uint("deepseek2.rope.dimension_count") == 8);  // fits heads of 16

  MadeSource wrong("rwkv7", {.D = 48});  // 32 does not divide it
  CHECK_THROWS_AS(wrong.learn(), FormatError);
}

TEST_CASE("the made model of every architecture has all that it requires") {
  for (const Architecture* architecture : architectures()) {
    CAPTURE(architecture->name);
    for (const bool optional : {false, true}) {
      MadeSource source{std::string(architecture->name)};
      source.optional_tensors = optional;
      CHECK_NOTHROW(source.learn());
    }
  }
}

TEST_CASE("weights of made models have the wanted type if the ops that use them take it") {
  MadeSource source("rwkv6");
  source.type_of = matrices_of(q8_0);
  source.learn();
  const auto type = [&](const char* name) { return source.find_tensor(name)->dtype; };
  CHECK(type("blk.0.time_mix_key.weight") == q8_0);
  CHECK(type("blk.0.time_mix_w2.weight") == q8_0);
  CHECK(type("blk.0.time_mix_first.weight") == f32);       // of linear attention
  CHECK(type("blk.0.time_mix_lerp_fused.weight") == f32);  // of lerp, through a view
  CHECK(type("blk.0.attn_norm.weight") == f32);
}
