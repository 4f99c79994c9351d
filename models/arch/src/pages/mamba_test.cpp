#include "weft/arch/mamba.h"

#include <doctest/doctest.h>

#include "weft/base/error.h"

#include "support/built_graph.h"
#include "support/made_source.h"

using namespace weft;
using namespace weft::arch;
using weft::test::tiny_source;

namespace {

using Ints = std::vector<std::int64_t>;

MadeSource source_of(const std::string& arch, const std::string& heads_kv = "") {
  MadeSource source(arch);
  const auto set = [&](const char* key, std::int64_t value) { source.set(key, value); };
  set("ssm.conv_kernel", 4), set("ssm.inner_size", 128), set("ssm.state_size", 16);
  set("ssm.time_step_rank", 8), set("ssm.group_count", 2);
  if (!heads_kv.empty())
    source.keys[arch + ".attention.head_count_kv"] = Ints{heads_kv[0] - '0', heads_kv[1] - '0'};
  return source;
}

Graph build(const MadeSource& source) {
  return test::build(source, {.tokens = 8});
}

Graph learned(MadeSource source) {
  source.learn();
  return build(source);
}

std::string refusal(const MadeSource& source) {
  try {
    configure(source, find_architecture(source));
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

bool has(const Graph& graph, std::string_view path) {
  return graph.find(path) != kNoNode;
}

}  // namespace

TEST_CASE("mamba2: the shapes of its states, no caches") {
  const Graph graph = learned(source_of("mamba2"));
  // 128 + 2 * 2 * 16 channels; 8 heads of 16 channels and 16 states.
  const NodeId conv = graph.find("recurrent.conv.1"), ssm = graph.find("recurrent.ssm.1");
  REQUIRE(conv != kNoNode);
  REQUIRE(ssm != kNoNode);
  CHECK(to_string(graph[conv].spec) == "F32 [6, 192, 3]");
  CHECK(to_string(graph[ssm].spec) == "F32 [6, 8, 16, 16]");
  CHECK_FALSE(has(graph, "cells"));
  CHECK(has(graph, "blk.1.ssm_in.weight"));
}

TEST_CASE("mamba: the shapes of its states") {
  const Graph graph = learned(source_of("mamba"));
  CHECK(to_string(graph[graph.find("recurrent.conv.0")].spec) == "F32 [6, 128, 3]");
  CHECK(to_string(graph[graph.find("recurrent.ssm.0")].spec) == "F32 [6, 128, 16]");
}

TEST_CASE("layers without kv heads are recurrent") {
  for (const char* arch : {"granitehybrid", "jamba", "plamo2"}) {
    CAPTURE(arch);
    const Graph graph = learned(source_of(arch, "02"));
    CHECK(has(graph, "recurrent.ssm.0"));
    CHECK_FALSE(has(graph, "recurrent.ssm.1"));
    CHECK_FALSE(has(graph, "cache.k.0"));
    CHECK(has(graph, "cache.k.1"));
  }
}

TEST_CASE("falcon-h1: every layer has both") {
  const Graph graph = learned(source_of("falcon-h1"));
  for (const char* path : {"recurrent.ssm.0", "recurrent.ssm.1", "cache.k.0", "cache.k.1"})
    CHECK(has(graph, path));
}

TEST_CASE("nemotron_h: a layer is an ffn, attention or mamba2") {
  for (const char* arch : {"nemotron_h", "nemotron_h_moe"}) {
    MadeSource source = source_of(arch);
    const std::string prefix = std::string(arch) + '.';
    source.keys[prefix + "block_count"] = std::int64_t{3};
    source.keys[prefix + "feed_forward_length"] = Ints{0, 96, 0};
    source.keys[prefix + "attention.head_count_kv"] = Ints{0, 0, 2};
    SUBCASE("dense") {
      const Graph graph = learned(source);
      CHECK(has(graph, "blk.1.ffn_up.weight"));
    }
    SUBCASE("experts in a narrower space") {
      for (const auto& [key, value] : {std::pair{"expert_count", 4},
                                       {"expert_used_count", 2},
                                       {"expert_feed_forward_length", 32},
                                       {"expert_shared_feed_forward_length", 48},
                                       {"moe_latent_size", 24}})
        source.keys[prefix + key] = std::int64_t{value};
      const Graph graph = learned(source);
      CHECK(to_string(graph[graph.find("blk.1.ffn_up_exps.weight")].spec) == "F32 [4, 32, 24]");
      CHECK(has(graph, "blk.1.ffn_latent_up.weight"));
      CHECK(has(graph, "blk.1.ffn_up_shexp.weight"));
    }
    const Graph graph = learned(source);
    CHECK(has(graph, "recurrent.ssm.0"));
    CHECK_FALSE(has(graph, "recurrent.ssm.1"));
    CHECK_FALSE(has(graph, "recurrent.ssm.2"));
    CHECK(has(graph, "cache.k.2"));
  }
}

TEST_CASE("jamba: experts in the layers that have a router") {
  MadeSource source = source_of("jamba", "02");
  source.learn();
  source.keys["jamba.expert_count"] = std::int64_t{4};
  source.keys["jamba.expert_used_count"] = std::int64_t{2};
  for (const char* name : {"gate", "up", "down"})
    source.remove(fmt::format("blk.1.ffn_{}.weight", name));
  source.add("blk.1.ffn_gate_inp.weight", {f32, {4, 64}});
  for (const char* name : {"gate", "up"})
    source.add(fmt::format("blk.1.ffn_{}_exps.weight", name), {f32, {4, 96, 64}});
  source.add("blk.1.ffn_down_exps.weight", {f32, {4, 64, 96}});
  const Graph graph = build(source);
  CHECK(has(graph, "blk.0.ffn_up.weight"));
  CHECK(has(graph, "blk.1.ffn_up_exps.weight"));
}

TEST_CASE("state space layers: keys out of range") {
  const auto with = [](const char* key, std::int64_t value) {
    MadeSource source = source_of("mamba2");
    source.keys[std::string("mamba2.ssm.") + key] = value;
    return refusal(source);
  };
  CHECK(with("conv_kernel", 1) == "made up: key 'mamba2.ssm.conv_kernel' is 1, must be 2..64");
  CHECK(with("conv_kernel", 65) == "made up: key 'mamba2.ssm.conv_kernel' is 65, must be 2..64");
  CHECK(with("inner_size", 0) == "made up: key 'mamba2.ssm.inner_size' is 0, must be 1..1048576");
  CHECK(with("state_size", 5000) ==
        "made up: key 'mamba2.ssm.state_size' is 5000, must be 1..4096");
  CHECK(with("time_step_rank", 3) ==
        "made up: key 'mamba2.ssm.time_step_rank' is 3, must be a divisor of 128");
  CHECK(with("group_count", 3) ==
        "made up: key 'mamba2.ssm.group_count' is 3, must be a divisor of the 8 heads");
  MadeSource source = source_of("mamba2");
  source.keys.erase("mamba2.ssm.conv_kernel");
  CHECK(refusal(source).find("mamba2.ssm.conv_kernel") != std::string::npos);
}

TEST_CASE("a vector can be declared as a matrix of one column") {
  MadeSource source = source_of("plamo2", "02");
  source.learn();
  source.add("blk.0.ssm_a", {f32, {8}});
  const Graph graph = build(source);
  CHECK(to_string(graph[graph.find("blk.0.ssm_a")].spec) == "F32 [8, 1]");
  source.add("blk.0.ssm_a", {f32, {9}});
  CHECK_THROWS_AS(build(source), ShapeError);
}
