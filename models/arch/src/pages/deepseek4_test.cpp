// DeepSeek V4: memory for pooled tokens, and what is refused.

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/arch/builder.h"
#include "weft/arch/made_source.h"
#include "weft/base/error.h"
#include "weft/ops/attention/joined_attention.h"
#include "weft/ops/rows/pool_tokens.h"

#include "support/built_graph.h"

using namespace weft;
using namespace weft::arch;

namespace {

using test::node;

using Value = MadeSource::Value;
using List = std::vector<std::int64_t>;

// Layers without pooled vectors, with an indexer, and without one; experts by table in the first.
MadeSource source() {
  MadeSource made("deepseek4", {.L = 3});
  made.path = "tiny.gguf";
  const std::map<std::string, Value> keys{{"attention.compress_ratios", List{0, 4, 128}},
                                          {"attention.sliding_window", 16},
                                          {"attention.output_lora_rank", 8},
                                          {"attention.q_lora_rank", 24},
                                          {"attention.indexer.top_k", 5},
                                          {"hash_layer_count", 1},
                                          {"rope.dimension_count", 8},
                                          {"rope.scaling.type", std::string("yarn")},
                                          {"rope.scaling.factor", 4.0},
                                          {"attention.compress_rope_freq_base", 4e4},
                                          {"swiglu_clamp_exp", 10.0}};
  for (const auto& [key, value] : keys) made.set(key, value);
  return made;
}

Graph build(const MadeSource& made) {
  return test::build(made, {.tokens = 4, .sequences = 2, .context = 1000});
}

std::string refused(const std::string& key, const Value& value) {
  MadeSource made = source();
  made.set(key, value);
  try {
    made.learn();
    build(made);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("deepseek4: cells of a window, and of 4 or 128 tokens") {
  MadeSource made = source();
  made.learn();
  const Graph graph = build(made);
  CHECK(node(graph, "blk.0.attn").op->name == "biased_attention");
  CHECK(graph.find("cache.pooled.0") == kNoNode);
  for (const int layer : {1, 2}) {
    const Node& attn = node(graph, fmt::format("blk.{}.attn", layer));
    CHECK(attn.op == &kJoinedAttention);
    CHECK(attn.attrs.as<JoinedAttentionAttrs>().window == 16);
    CHECK((attn.inputs[10] == kNoNode) == (layer == 2));  // chosen
  }
  // 250 and 8 cells for each of two sequences, in blocks of 64.
  CHECK(node(graph, "cache.pooled.1").spec.shape[0].bound == 8);
  CHECK(node(graph, "cache.index.1").spec.shape[0].bound == 8);
  CHECK(node(graph, "cache.pooled.2").spec.shape[0].bound == 2);
  CHECK(graph.find("cache.index.2") == kNoNode);
  CHECK(node(graph, "recurrent.attn_compressor.1").spec.shape[2].bound == 2);
  CHECK(node(graph, "recurrent.attn_compressor.2").spec.shape[2].bound == 1);
}

TEST_CASE("deepseek4: only layers with pooled vectors stretch positions, and by no magnitude") {
  MadeSource made = source();
  made.learn();
  const Graph graph = build(made);
  std::vector<RopeAttrs> ropes;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == &kRopeAngles) ropes.push_back(graph[id].attrs.as<RopeAttrs>());
  }
  REQUIRE(ropes.size() == 2 + 3 + 3);  // forth, back and pooled
  for (std::size_t i = 0; i < ropes.size(); ++i) {
    CHECK(ropes[i].base == (i < 2 ? 10000 : 40000));
    CHECK(ropes[i].ext_factor == (i < 2 ? 0 : 1));
    const float magnitude = i < 2 ? 1 : 1 + 0.1f * std::log(4.0f);
    CHECK(ropes[i].attn_factor * magnitude == doctest::Approx(1));
  }
}

TEST_CASE("deepseek4: matrices of output groups may be stored as one") {
  MadeSource made = source();
  made.learn();
  const TensorSpec groups = *made.find_tensor("blk.0.attn_output_a.weight");
  CHECK(groups.shape == Shape{2, 8, 32});
  made.add("blk.0.attn_output_a.weight", {f32, {16, 32}});
  build(made);
  made.add("blk.0.attn_output_a.weight", {f32, {8, 64}});
  CHECK_THROWS_WITH_AS(build(made), doctest::Contains("must be [2, 8, 32], got [8, 64]"),
                       ShapeError);
}

TEST_CASE("deepseek4: keys that do not fit are refused by name") {
  const std::string key = "tiny.gguf: key 'deepseek4.";
  CHECK(refused("hash_layer_count", 3) == "accepted");
  CHECK(refused("attention.compress_ratios", List{0, 4}) ==
        key + "attention.compress_ratios' has 2 numbers, must have at least 3 (one per layer)");
  CHECK(refused("attention.compress_ratios", List{0, 4, 8, 0}) ==
        key + "attention.compress_ratios' is 8, must be 0, 4 or 128");
  CHECK(refused("attention.output_group_count", 3) ==
        key + "attention.output_group_count' is 3, must be a divisor of the 4 heads");
  CHECK(refused("attention.value_length", 8) ==
        key + "attention.value_length' is 8, must be 16, as attention.key_length");
  CHECK(refused("rope.scaling.attn_factor", 0.5) ==
        key + "rope.scaling.attn_factor' is 0.5, must be 1");
  CHECK(refused("attention.indexer.key_length", 4) ==
        key +
            "attention.indexer.key_length' is 4, must be at least the 8 elements that rope "
            "turns");
  CHECK(refused("attention.sliding_window", 0) ==
        key + "attention.sliding_window' is 0, must be 1..1048576");
  CHECK(refused("hyper_connection.count", 17) ==
        key + "hyper_connection.count' is 17, must be 1..16");
  CHECK(refused("hyper_connection.sinkhorn_iterations", 0) ==
        key + "hyper_connection.sinkhorn_iterations' is 0, must be 1..1000");
  CHECK(refused("hash_layer_count", 4) == key + "hash_layer_count' is 4, must be 0..3");
}
