// Architectures whose tokens attend to the positions that an indexer chooses.

#include <map>
#include <string>

#include <doctest/doctest.h>

#include "weft/arch/builder.h"
#include "weft/arch/made_source.h"
#include "weft/base/error.h"
#include "weft/ops/attention/choose_positions.h"
#include "weft/ops/attention/chosen_attention.h"

#include "support/built_graph.h"

using namespace weft;
using namespace weft::arch;

namespace {

using test::node;

using ModelKeys = std::map<std::string, MadeSource::Value>;

// Latent attention of width 32, an indexer with 2 heads of 32, an ffn in the first layer.
const ModelKeys kLatent = {{"attention.q_lora_rank", 16},
                           {"attention.kv_lora_rank", 32},
                           {"attention.key_length_mla", 24},
                           {"attention.value_length_mla", 16},
                           {"rope.dimension_count", 8},
                           {"attention.indexer.head_count", 2},
                           {"attention.indexer.key_length", 32},
                           {"attention.indexer.top_k", 5},
                           {"expert_count", 4},
                           {"expert_used_count", 2},
                           {"expert_feed_forward_length", 16},
                           {"leading_dense_block_count", 1}};
// An indexer with a head per kv head, spans of 4 positions.
const ModelKeys kSpans = {{"attention.indexer.head_count", 2},
                          {"attention.indexer.key_length", 32},
                          {"attention.indexer.top_k", 3},
                          {"attention.indexer.block_size", 4},
                          {"attention.indexer.local_blocks", 1},
                          {"rope.dimension_count", 8},
                          {"expert_count", 4},
                          {"expert_used_count", 2},
                          {"expert_feed_forward_length", 16},
                          {"leading_dense_block_count", 1}};

MadeSource source(const std::string& name, const ModelKeys& keys, const ModelKeys& more = {}) {
  MadeSource made(name);
  made.path = "tiny.gguf";
  for (const auto& all : {keys, more})
    for (const auto& [key, value] : all) made.set(key, value);
  return made;
}

Graph graph_of(const std::string& name, const ModelKeys& keys, const ModelKeys& more = {}) {
  MadeSource made = source(name, keys, more);
  made.learn();
  return test::build(made, {.tokens = 4, .context = 256});
}

std::string refused(const std::string& name, const ModelKeys& keys, const ModelKeys& more) {
  const MadeSource made = source(name, keys, more);
  try {
    configure(made, find_architecture(made));
  } catch (const FormatError& e) {
    return e.what();
  }
  return "accepted";
}

// The path of what the attention of layer i is told to attend to.
std::string chosen(const Graph& graph, int i) {
  const Node& attn = node(graph, fmt::format("blk.{}.attn", i));
  REQUIRE(attn.op == &kChosenAttention);
  return graph[attn.inputs[7]].path;
}
bool has(const Graph& graph, std::string_view path) {
  return graph.find(path) != kNoNode;
}

}  // namespace

TEST_CASE("deepseek32: every layer has an indexer with keys of its own") {
  const Graph graph = graph_of("deepseek32", kLatent);
  for (int i = 0; i < 2; ++i) {
    CHECK(chosen(graph, i) == fmt::format("blk.{}.chosen", i));
    CHECK(node(graph, fmt::format("cache.index.{}", i)).spec.shape.last() == 32);
  }
  CHECK(node(graph, "blk.1.chosen").spec.shape ==
        Shape{graph[graph.find("pos")].spec.shape[0], 1, 5});
}

TEST_CASE("deepseek32: no more positions are chosen than a sequence has") {
  const Graph graph = graph_of("deepseek32", kLatent, {{"attention.indexer.top_k", INT32_MAX}});
  CHECK(node(graph, "blk.0.chosen").spec.shape.last() == 256);
}

TEST_CASE("glm-dsa: layers without an indexer take the choice of the last one that has one") {
  const std::vector<std::int64_t> types{1, 0, 1};
  const Graph graph =
      graph_of("glm-dsa", kLatent, {{"block_count", 3}, {"attention.indexer.types", types}});
  CHECK(chosen(graph, 0) == "blk.0.chosen");
  CHECK(chosen(graph, 1) == "blk.0.chosen");
  CHECK(chosen(graph, 2) == "blk.2.chosen");
  CHECK_FALSE(has(graph, "cache.index.1"));

  MadeSource made = source("glm-dsa", kLatent, {{"attention.indexer.types", types}});
  made.keys["glm-dsa.block_count"] = 3;
  made.learn();
  made.add("blk.1.indexer.proj.weight", {f32, {2, 64}});
  const Architecture& architecture = find_architecture(made);
  const Graph same = build_graph(made, architecture, *configure(made, architecture), {});
  CHECK_FALSE(has(same, "blk.1.indexer.proj.weight"));
}

TEST_CASE("glm-dsa: files without types have indexers everywhere, or in every fourth layer") {
  const ModelKeys deep{{"block_count", 8}};
  const Graph early = graph_of("glm-dsa", kLatent, deep);
  for (int i = 0; i < 8; ++i) CHECK(chosen(early, i) == fmt::format("blk.{}.chosen", i));
  const Graph late =
      graph_of("glm-dsa", kLatent, {{"block_count", 8}, {"context_length", 1 << 20}});
  const int from[] = {0, 1, 2, 2, 2, 2, 6, 6};
  for (int i = 0; i < 8; ++i) CHECK(chosen(late, i) == fmt::format("blk.{}.chosen", from[i]));
}

TEST_CASE("minimax-m3: layers with experts attend to chosen spans, one choice per kv head") {
  const Graph graph = graph_of("minimax-m3", kSpans);
  CHECK_FALSE(has(graph, "cache.index.0"));
  CHECK(chosen(graph, 1) == "blk.1.chosen");
  const Node& choice = node(graph, "blk.1.chosen");
  CHECK(choice.spec.shape.last() == 3);
  CHECK(choice.spec.shape[1].bound == 2);
  CHECK(choice.attrs.as<ChoosePositionsAttrs>().span == 4);
  CHECK(node(graph, "blk.1.attn").attrs.as<ChosenAttentionAttrs>().span == 4);
}

TEST_CASE("indexers that do not fit are refused by key") {
  const auto latent = [](const char* key, MadeSource::Value value) {
    return refused("glm-dsa", kLatent, {{key, std::move(value)}});
  };
  const auto spans = [](const char* key, std::int64_t value) {
    return refused("minimax-m3", kSpans, {{key, value}});
  };
  const std::string glm = "tiny.gguf: key 'glm-dsa.attention.", mm = "tiny.gguf: key 'minimax-m3.";
  CHECK(latent("attention.indexer.types", std::vector<std::int64_t>{0, 1}) ==
        glm + "indexer.types' is 0, must be 1 in the first layer");
  CHECK(latent("attention.q_lora_rank", 0) == glm + "q_lora_rank' is 0, must be 1..1048576");
  CHECK(latent("attention.indexer.key_length", 4) ==
        glm + "indexer.key_length' is 4, must be at least the 8 elements that rope turns");
  CHECK(latent("attention.indexer.top_k", 0).find(glm + "indexer.top_k' is 0, must be 1..") == 0);
  CHECK(spans("attention.indexer.head_count", 4) ==
        mm + "attention.indexer.head_count' is 4, must be 2, the kv heads");
  CHECK(spans("attention.indexer.key_length", 7) ==
        mm + "attention.indexer.key_length' is 7, must be at least the 8 elements that rope turns");
  CHECK(spans("attention.indexer.block_size", 0).find(mm + "attention.indexer.block_size' is 0") ==
        0);
}
