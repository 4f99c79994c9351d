#include "weft/arch/builder.h"

#include <string>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/attention/attention.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/rows/get_rows.h"

#include "support/built_graph.h"
#include "support/error_text.h"
#include "support/made_source.h"

using namespace weft;
using namespace weft::arch;
using weft::test::text_of;
using weft::test::tiny_source;

namespace {

using test::build;
using test::node;

}  // namespace

TEST_CASE("a llama graph has its inputs, states, paths and shapes") {
  const Graph graph =
      build(tiny_source("llama"),
            {.tokens = 8, .logits_rows = 3, .context = 40, .cache_k = f32, .cache_v = f32});
  check(graph);
  for (const char* name : {"tokens", "pos", "cells", "table", "table_row", "first", "out_rows"}) {
    CHECK(node(graph, name).kind == NodeKind::input);
  }
  CHECK(node(graph, "cache.k.1").spec == TensorSpec{f32, {1, 2, 64, 16}});
  CHECK(node(graph, "cache.v.1").spec == TensorSpec{f32, {1, 2, 64, 16}});
  CHECK(node(graph, "blk.1.attn_q").op->name == "linear");
  CHECK(node(graph, "blk.0.attn").attrs.as<AttentionAttrs>().scale == 0.25f);
  REQUIRE(graph.outputs().size() == 1);
  const Node& logits = graph[graph.outputs()[0].node];
  CHECK(logits.spec.shape[0].bound == 3);
  CHECK(logits.spec.shape[1].bound == 50);
}

TEST_CASE("tied and untied heads, optional biases") {
  MadeSource source = tiny_source("llama");
  const Graph tied = build(source);
  CHECK(tied[node(tied, "output").inputs[1]].path == "token_embd.weight");

  source.add("output.weight", {f32, {50, 64}});
  source.add("blk.1.attn_q.bias", {f32, {64}});
  source.add("blk.0.ffn_down.bias", {f32, {64}});
  const Graph untied = build(source);
  CHECK(untied[node(untied, "output").inputs[1]].path == "output.weight");
  CHECK(untied[node(untied, "blk.1.attn_q").inputs[2]].path == "blk.1.attn_q.bias");
  CHECK(node(untied, "blk.0.attn_q").inputs[2] == kNoNode);
}

TEST_CASE("LongRoPE uses the long factors if the context is longer than the original one") {
  MadeSource source = tiny_source("llama");
  source.keys["llama.rope.scaling.type"] = std::string("longrope");
  source.keys["llama.rope.scaling.original_context_length"] = 128;
  source.add("rope_factors_long.weight", {f32, {8}});
  source.add("rope_factors_short.weight", {f32, {8}});
  const auto factors = [&](std::int64_t context) {
    const Graph graph = build(source, {.context = context});
    return graph[node(graph, "rope_angles").inputs[1]].path;
  };
  CHECK(factors(128) == "rope_factors_short.weight");
  CHECK(factors(129) == "rope_factors_long.weight");
}

TEST_CASE("qwen3 normalizes heads") {
  MadeSource source = tiny_source("qwen3");
  source.add("cls.output.weight", {f32, {2, 64}});
  const Graph graph = build(source);
  CHECK(node(graph, "blk.1.attn_k_norm").spec.shape == node(graph, "blk.1.attn_k_rope").spec.shape);
  source.remove("blk.0.attn_q_norm.weight");
  CHECK(text_of([&] { build(source); })
            .find("tiny.gguf: tensor 'blk.0.attn_q_norm.weight' is "
                  "missing (models/arch/src/") == 0);
}

TEST_CASE("the last layers of gemma4 attend to keys and values of earlier ones") {
  MadeSource source("gemma4", {.L = 4});
  source.path = "tiny.gguf";
  source.keys["gemma4.attention.sliding_window"] = 8;
  source.keys["gemma4.attention.sliding_window_pattern"] = 2;
  source.keys["gemma4.attention.key_length_swa"] = 8;
  source.keys["gemma4.attention.value_length_swa"] = 8;
  source.keys["gemma4.attention.shared_kv_layers"] = 2;
  source.learn();
  source.add("blk.3.attn_k.weight", {f32, {32, 64}});  // ignored
  const Graph graph = build(source);
  check(graph);
  CHECK(node(graph, "cache.k.0").spec.shape[3].bound == 8);
  CHECK(node(graph, "cache.k.1").spec.shape[3].bound == 16);
  CHECK(graph.find("cache.k.2") == kNoNode);
  CHECK(graph.find("blk.3.attn_k") == kNoNode);
  CHECK(graph[node(graph, "blk.2.attn").inputs[1]].path == "blk.0.cache_k");
  CHECK(graph[node(graph, "blk.3.attn").inputs[2]].path == "blk.1.cache_v");

  source.keys["gemma4.attention.shared_kv_layers"] = 3;
  CHECK(text_of([&] { build(source); }) ==
        "tiny.gguf: key 'gemma4.attention.shared_kv_layers' is 3, must be fewer: no layer before "
        "them has the window of layer 1");
  source.keys["gemma4.attention.shared_kv_layers"] = 4;
  CHECK(text_of([&] { build(source); }) ==
        "tiny.gguf: key 'gemma4.attention.shared_kv_layers' is 4, must be 0..3");
  source.keys["gemma4.attention.shared_kv_layers"] = 2;
  source.keys["gemma4.attention.head_count_kv"] = std::vector<std::int64_t>{2, 2, 2, 1};
  CHECK(text_of([&] { build(source); }) ==
        "tiny.gguf: key 'gemma4.attention.head_count_kv' is 1, must be 2 in layer 3, as in layer "
        "1, whose keys it shares");
}

TEST_CASE("keys and values that no layer stored cannot be attended to") {
  Graph graph;
  const Memory memory(graph, graph.input("pos", {i32, {4}}), {});
  const Tensor q = graph.input("q", {f32, {4, 2, 16}}), k = graph.input("k", {f32, {4, 1, 16}});
  memory.attend(3, q, k, k, {});
  const Graph::Scope scope(graph, "next");
  memory.attend_stored(3, q, {});
  CHECK(text_of([&] { memory.attend_stored(2, q, {}); }) ==
        "layer 2 stored no keys and values with a window of 0");
  CHECK(text_of([&] { memory.window(8).attend_stored(3, q, {}); }) ==
        "layer 3 stored no keys and values with a window of 8");
}

TEST_CASE("cells for several positions hold latent vectors of all tokens") {
  Graph graph;
  const Memory memory(graph, graph.input("pos", {i32, {4}}), {}), strided = memory.every(4);
  const Tensor q = graph.input("q", {f32, {4, 2, 16}}), k = graph.input("k", {f32, {4, 1, 16}});
  const std::string others = "cells for every 4 positions have no windows, chunks or later tokens",
                    every = "this memory needs a cell for every position, not for every 4";
  CHECK(text_of([&] { strided.window(8).keep_latent(0, k); }) == others);
  CHECK(text_of([&] { strided.chunks(8).keep_latent(0, k); }) == others);
  CHECK(text_of([&] { strided.both_ways().keep_latent(0, k); }) == others);
  CHECK(text_of([&] { strided.attend(0, q, k, k, {}); }) == every);
  CHECK(text_of([&] { strided.attend_latent(0, q, k, {}); }) == every);
  CHECK(text_of([&] { strided.attend_stored(0, q, {}); }) == every);
  const Tensor chosen = graph.input("chosen", {i32, {4, 1, 2}});
  CHECK(text_of([&] {
          strided.chosen({chosen, 2}).keep_latent(0, k);
        }) == "latent vectors are chosen one by one, not in spans of 2");
  strided.chosen({chosen, 1}).keep_latent(0, k);
}

TEST_CASE("experts may have gate and up in one tensor, and a scale each") {
  MadeSource source("qwen3moe", {.X = 4});
  source.learn();
  source.remove("blk.1.ffn_gate_exps.weight");
  source.remove("blk.1.ffn_up_exps.weight");
  source.add("blk.1.ffn_gate_up_exps.weight", {f32, {4, 64, 64}});
  source.add("blk.1.ffn_down_exps.scale", {f32, {4}});
  const Graph graph = build(source);
  check(graph);
  CHECK(node(graph, "blk.0.ffn_gate_exps").spec.shape[2].bound == 32);
  CHECK(node(graph, "blk.1.ffn_gate_up_exps").spec.shape[2].bound == 64);
  CHECK(node(graph, "blk.1.slice_heads").spec.shape[2].bound == 32);
  CHECK(node(graph, "blk.1.scale_heads").spec.shape[2].bound == 64);
}

TEST_CASE("every pass of nanbeige has keys and values of its own") {
  MadeSource source("nanbeige");
  source.path = "tiny.gguf";
  source.keys["nanbeige.num_loops"] = 2;
  source.learn();
  const Graph graph = build(source);
  CHECK(graph.find("cache.k.3") != kNoNode);
  CHECK(graph.find("cache.k.4") == kNoNode);
  CHECK(graph.find("pass.1.blk.1.attn") != kNoNode);
  source.keys["nanbeige.num_loops"] = 4096;
  CHECK(text_of([&] { build(source); }) ==
        "tiny.gguf: key 'nanbeige.num_loops' is 4096, must be 0..2048");
}

TEST_CASE("pages refuse keys that they cannot build with") {
  const auto refusal = [](const std::string& arch,
                          const std::map<std::string, MadeSource::Value>& keys) {
    MadeSource source(arch);
    source.path = "tiny.gguf";
    for (const auto& [key, value] : keys) source.keys[key] = value;
    return text_of([&] { build(source); });
  };
  CHECK(refusal("apertus", {}) == "tiny.gguf: key 'xielu.alpha_p' is missing");
  CHECK(refusal("apertus", {{"xielu.alpha_p", 1e9}}) ==
        "tiny.gguf: key 'xielu.alpha_p' has 1000000000, must be within -1000000..1000000");
  CHECK(refusal("chameleon", {}) ==
        "tiny.gguf: key 'chameleon.vocab_size' is 50, must be at least 8196");
  CHECK(refusal("grovemoe", {{"grovemoe.expert_count", 4},
                             {"grovemoe.expert_used_count", 2},
                             {"grovemoe.expert_feed_forward_length", 32},
                             {"grovemoe.experts_per_group", 3}}) ==
        "tiny.gguf: key 'grovemoe.experts_per_group' is 3, must be a divisor of 4 experts");
  CHECK(refusal("graniteswitch", {{"graniteswitch.logit_scale", 4.0},
                                  {"graniteswitch.adapters.count", 2},
                                  {"graniteswitch.adapters.lora_rank", 4},
                                  {"graniteswitch.adapters.token_ids_activate", 7}}) ==
        "tiny.gguf: key 'graniteswitch.adapters.token_ids_activate' is 1 numbers, must be "
        "2 numbers");
}

TEST_CASE("weights that do not fit are rejected with file, tensor, both shapes and line") {
  MadeSource source = tiny_source("qwen2");
  source.add("blk.1.ffn_up.weight", {f32, {64, 96}});
  CHECK(text_of([&] { build(source); })
            .find("tiny.gguf: tensor 'blk.1.ffn_up.weight' must be [96, 64], got [64, 96] "
                  "(models/arch/src/decoder/blocks.cpp:") == 0);
  CHECK_THROWS_AS(build(source), ShapeError);

  source = tiny_source("qwen2");
  source.remove("blk.1.ffn_norm.weight");
  CHECK_THROWS_AS(build(source), FormatError);

  source = tiny_source("qwen2");
  source.add("blk.0.ffn_norm.weight", {f16, {64}});
  CHECK(text_of([&] { build(source); }).find("tiny.gguf: ") == 0);
  CHECK_THROWS_AS(build(source), DTypeError);
}

TEST_CASE("tensors that the architecture does not know are named") {
  MadeSource source = tiny_source("qwen2");
  source.add("blk.0.attn_strange.weight", {f32, {4}});
  CHECK(text_of([&] { build(source); }) ==
        "tiny.gguf: architecture 'qwen2' does not use tensor 'blk.0.attn_strange.weight'");
  for (int i = 2; i < 9; ++i) source.add(fmt::format("blk.{}.x", i), {f32, {4}});
  CHECK(text_of([&] { build(source); }) ==
        "tiny.gguf: architecture 'qwen2' does not use tensors 'blk.0.attn_strange.weight', "
        "'blk.2.x', 'blk.3.x', 'blk.4.x', 'blk.5.x' and 3 more");
}

namespace {

// One builder for each wrong output, with a row for each token or too few columns.
Tensor row_per_token(const Weights& w, const Hparams& c, const Inputs& in) {
  const Tensor embd = w("token_embd.weight", {c.V, c.D});
  return linear(get_rows(embd, in.tokens), embd);
}

Tensor rows_only(const Weights& w, const Hparams& c, const Inputs& in) {
  return get_rows(get_rows(w("token_embd.weight", {c.V, c.D}), in.tokens), in.out_rows);
}

// Logits with weights of its own, which embeddings do not need.
Tensor own_head(const Weights& w, const Hparams& c, const Inputs& in) {
  const Tensor rows = rows_only(w, c, in);
  if (in.embeddings) return rows;
  return add(linear(rows, w("my_head.weight", {c.V, c.D})), w("my_bias", {c.V}));
}

}  // namespace

TEST_CASE("an output that is not the rows that were asked for is refused") {
  MadeSource source("own");
  source.path = "own.gguf";
  const auto refusal = [&](auto builder, const GraphOptions& options) {
    const Architecture own{.name = "own", .build = builder};
    return text_of([&] { build_graph(source, own, *configure(source, own), options); });
  };
  source.learn({.name = "own", .build = row_per_token});  // made models are as others
  // Refused even if there are as many rows as tokens: they are different rows.
  for (const GraphOptions& options : {GraphOptions{}, {.tokens = 8, .logits_rows = 8}}) {
    CHECK(refusal(row_per_token, options)
              .find("own.gguf: architecture 'own': the logits of a step must be F32 [O, 50], got "
                    "F32 [T, 50]; pick the rows `out_rows` with get_rows() (models/arch/src/") ==
          0);
    CHECK(refusal(rows_only, options)
              .find("the logits of a step must be F32 [O, 50], got F32 [O, 64] (models/") !=
          std::string::npos);
  }
  CHECK(refusal(row_per_token, {.embeddings = true})
            .find("the embeddings of a step must be F32 [O, 64], got F32 [T, 50]; pick") !=
        std::string::npos);
}

TEST_CASE("embeddings leave out what only logits need") {
  MadeSource tied = tiny_source("llama");
  tied.add("output.weight", {f32, {50, 64}});
  for (const char* name : {"output.scale", "output.input_scale"}) tied.add(name, {f32, {1}});
  tied.add("output.bias", {f32, {50}});
  CHECK_NOTHROW(build(tied));
  CHECK_NOTHROW(build(tied, {.embeddings = true}));

  MadeSource source("own");
  source.path = "own.gguf";
  const Architecture own{.name = "own", .build = own_head};
  source.learn(own);
  const auto embeddings = [&] {
    build_graph(source, own, *configure(source, own), {.embeddings = true});
  };
  CHECK_NOTHROW(embeddings());
  source.add("strange.weight", {f32, {4}});
  CHECK(text_of(embeddings) == "own.gguf: architecture 'own' does not use tensor 'strange.weight'");
}

TEST_CASE("of the layers that follow pooling, only those that are applied are accepted") {
  MadeSource source = tiny_source("qwen2");
  for (const char* name : {"dense_2.weight", "dense_2.bias", "dense_9.weight", "dense_9.bias"})
    source.add(name, {f32, {64, 64}});
  CHECK_NOTHROW(build(source));
  for (const char* name : {"dense_1.weight", "dense_10.weight", "dense_02.bias", "dense_.weight",
                           "dense_2.scale", "dense_2"}) {
    MadeSource other = source;
    other.add(name, {f32, {64, 64}});
    CHECK(text_of([&] { build(other); }) ==
          fmt::format("tiny.gguf: architecture 'qwen2' does not use tensor '{}'", name));
  }
}

TEST_CASE("unknown architectures are reported with the nearest known name") {
  MadeSource source("");
  source.path = "tiny.gguf";
  source.keys.clear();
  CHECK(text_of([&] { find_architecture(source); }) ==
        "tiny.gguf: key 'general.architecture' is missing");
  source.keys["general.architecture"] = std::string("qwen9");
  CHECK(text_of([&] { find_architecture(source); }) ==
        "tiny.gguf: unsupported architecture 'qwen9'; nearest known: qwen, qwen2, qwen3");
  source.keys["general.architecture"] = std::string("\x1blama");
  CHECK(text_of([&] { find_architecture(source); }) ==
        "tiny.gguf: unsupported architecture '?lama'; nearest known: llama");
  source.keys["general.architecture"] = std::string("hyperion");
  CHECK(text_of([&] { find_architecture(source); }) ==
        "tiny.gguf: unsupported architecture 'hyperion'");
  source.keys["general.architecture"] = std::string(100000, 'x');
  CHECK_THROWS_AS(find_architecture(source), UnsupportedError);
}
