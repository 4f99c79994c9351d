#include <map>
#include <string>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/elementwise/scale.h"

#include "support/built_graph.h"
#include "support/made_source.h"

using namespace weft;
using namespace weft::arch;
using weft::test::tiny_source;

namespace {

using test::build;
using test::node;

// The message for a file of 2 heads of 32 elements with these keys.
std::string message(const std::string& arch, const std::map<std::string, std::int64_t>& keys) {
  MadeSource source = tiny_source(arch);
  for (const auto& [key, value] : keys) source.set(key, value);
  try {
    build(source);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("rwkv7: a state of matrices and two of token shift per layer, none of cells") {
  const Graph graph = build(tiny_source("rwkv7"), {.tokens = 8, .logits_rows = 3});
  check(graph);
  const std::int64_t rows = kCheckpoints + 2;
  CHECK(node(graph, "recurrent.wkv.1").spec == TensorSpec{f32, {rows, 2, 32, 32}});
  CHECK(node(graph, "recurrent.shift.attn.1").spec == TensorSpec{f32, {rows, 64}});
  CHECK(node(graph, "recurrent.shift.ffn.0").spec == TensorSpec{f32, {rows, 64}});
  CHECK(graph.find("cells") == kNoNode);
  CHECK(graph.find("blk.0.time_mix_v2") == kNoNode);  // nothing to mix with
  CHECK(node(graph, "blk.1.time_mix_v2").op->name == "linear");
}

TEST_CASE("rwkv7: the first layer may have weights for the values of an earlier one") {
  MadeSource source = tiny_source("rwkv7");
  source.add("blk.0.time_mix_v1.weight", {f32, {5, 64}});
  build(source);
  source.add("blk.0.time_mix_v3.weight", {f32, {5, 64}});
  CHECK_THROWS_AS(build(source), FormatError);
}

TEST_CASE("arwkv7: gate and norm of heads are optional, the first has an input of its own") {
  const MadeSource without = tiny_source("arwkv7");
  CHECK(without.find_tensor("blk.1.time_mix_lerp_fused.weight")->shape == Shape{5, 1, 1, 64});
  MadeSource with = without;
  with.keys["arwkv7.attention.gate_lora_rank"] = 16;
  for (const std::string block : {"blk.0.", "blk.1."}) {
    with.add(block + "time_mix_g1.weight", {f32, {16, 64}});
    with.add(block + "time_mix_g2.weight", {f32, {64, 16}});
    with.add(block + "time_mix_lerp_fused.weight", {f32, {6, 1, 1, 64}});
    with.add(block + "time_mix_ln.weight", {f32, {64}});
    with.add(block + "time_mix_ln.bias", {f32, {64}});
  }
  const Graph graph = build(with);
  check(graph);
  CHECK(graph.find("blk.1.time_mix_g2") != kNoNode);
  CHECK(graph.find("blk.1.layer_norm") != kNoNode);
  CHECK(build(without).find("blk.1.layer_norm") == kNoNode);
}

TEST_CASE("rwkv6: halves its activations behind every n layers") {
  MadeSource source = tiny_source("rwkv6");
  const auto n_halved = [&](std::int64_t every) {
    source.keys["rwkv6.rescale_every_n_layers"] = every;
    const Graph graph = build(source);
    int n = 0;
    for (NodeId id = 0; id < graph.size(); ++id)
      n += graph[id].op == &kScale && graph[id].attrs.as<ScaleAttrs>().factor == 0.5f;
    return n;
  };
  CHECK(n_halved(0) == 0);
  CHECK(n_halved(1) == 2);
  CHECK(n_halved(2) == 1);
  CHECK(n_halved(3) == 0);
}

TEST_CASE("rwkv6: the mixes of early files, a vector each") {
  MadeSource source = tiny_source("rwkv6");
  for (const std::string block : {"blk.0.", "blk.1."}) {
    source.remove(block + "time_mix_lerp_fused.weight");
    for (const char name : {'w', 'k', 'v', 'r', 'g'})
      source.add(block + "time_mix_lerp_" + name + ".weight", {f32, {64}});
  }
  check(build(source));
}

TEST_CASE("rwkv6qwen2: key and value heads may be fewer") {
  MadeSource source("rwkv6qwen2");
  source.keys["rwkv6qwen2.attention.head_count_kv"] = 1;
  source.learn();
  CHECK(source.find_tensor("blk.0.time_mix_key.weight")->shape == Shape{32, 64});
  const Graph graph = build(source);
  CHECK(graph.find("blk.0.repeat_heads") != kNoNode);
  source.keys["rwkv6qwen2.attention.head_count_kv"] = 0;
  CHECK_THROWS_AS(build(source), ShapeError);
}

TEST_CASE("rwkv: numbers that do not fit are rejected") {
  CHECK(message("rwkv7", {{"wkv.head_size", 0}}) ==
        "tiny.gguf: key 'rwkv7.wkv.head_size' is 0, must be 1..65536");
  CHECK(message("rwkv7", {{"wkv.head_size", 48}}) ==
        "tiny.gguf: key 'rwkv7.wkv.head_size' is 48, must be a divisor of the embedding length 64");
  CHECK(message("rwkv7", {{"token_shift_count", 1}}) ==
        "tiny.gguf: key 'rwkv7.token_shift_count' is 1, must be 2..2");
  CHECK(message("arwkv7", {{"token_shift_count", 2}}) ==
        "tiny.gguf: key 'arwkv7.token_shift_count' is 2, must be 1..1");
  CHECK(message("rwkv6qwen2", {{"rescale_every_n_layers", 6}}) ==
        "tiny.gguf: key 'rwkv6qwen2.rescale_every_n_layers' is 6, must be 0..0");
  CHECK(message("rwkv6qwen2", {{"attention.head_count", 6}, {"attention.head_count_kv", 3}}) ==
        "tiny.gguf: key 'rwkv6qwen2.attention.head_count' is 6, must be a divisor of the embedding "
        "length 64");
  CHECK(message("rwkv6qwen2", {{"attention.head_count", 0}, {"attention.head_count_kv", 3}}) ==
        "tiny.gguf: key 'rwkv6qwen2.attention.head_count_kv' is 3, must be a divisor of the 2 "
        "heads of 32 elements");
  CHECK(message("rwkv6", {{"attention.head_count", 0}}) == "no error");
}
