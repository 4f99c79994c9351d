#include "weft/arch/delta_net.h"

#include <string>

#include <doctest/doctest.h>

#include "weft/arch/made_source.h"
#include "weft/base/error.h"
#include "weft/ops/recurrent/causal_conv.h"
#include "weft/ops/recurrent/delta_rule.h"

#include "support/built_graph.h"

using namespace weft;
using namespace weft::arch;

namespace {

using test::node;

using List = std::vector<std::int64_t>;
using Keyed = std::map<std::string, MadeSource::Value>;

MadeSource qwen35(const Keyed& keys = {}) {
  MadeSource source("qwen35");
  source.path = "tiny.gguf";
  Keyed all{{"ssm.conv_kernel", 4},    {"ssm.state_size", 8},      {"ssm.group_count", 2},
            {"ssm.time_step_rank", 6}, {"ssm.inner_size", 6 * 16}, {"full_attention_interval", 2}};
  for (const auto& [key, value] : keys) all[key] = value;
  for (const auto& [key, value] : all) source.set(key, value);
  return source;
}

Graph build(const MadeSource& source) {
  return test::build(source, {.tokens = 4});
}

std::string refusal(const Keyed& keys) {
  try {
    qwen35(keys).learn();
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

Shape without_rows(const Shape& shape) {
  return Shape(std::vector<Dim>(shape.begin() + 1, shape.end()));
}

}  // namespace

TEST_CASE("delta nets and attention alternate, with a state of each kind") {
  MadeSource source = qwen35();
  source.learn();
  const Graph graph = build(source);
  CHECK(node(graph, "blk.0.delta_rule").op == &kDeltaRule);
  CHECK(node(graph, "blk.1.attn").op->name == "attention");
  CHECK(graph.find("blk.1.delta_rule") == kNoNode);
  CHECK(without_rows(node(graph, "recurrent.delta.0").spec.shape) == Shape{6, 8, 16});
  CHECK(without_rows(node(graph, "recurrent.ssm_conv1d.0").spec.shape) ==
        Shape{2 * 2 * 8 + 6 * 16, 3});
}

TEST_CASE("the layers without attention follow from flags or a period") {
  const auto recurrent = [](const Keyed& keys) {
    const MadeSource source = qwen35(keys);
    const Config c = configure(source, find_architecture(source));
    std::string layers;
    for (const LayerHparams& layer : c->layers) layers += layer.G == 0 ? 'r' : 'a';
    return layers;
  };
  CHECK(recurrent({{"block_count", 5}, {"full_attention_interval", 3}}) == "rrarr");
  CHECK(recurrent({{"block_count", 2}, {"full_attention_interval", 1}}) == "aa");
  CHECK(recurrent({{"block_count", 3}, {"attention.recurrent_layers", List{0, 1, 0}}}) == "ara");
  CHECK(recurrent({{"block_count", 3},
                   {"nextn_predict_layers", 1},
                   {"attention.recurrent_layers", List{1, 0, 1}}}) == "raa");
  CHECK(recurrent({{"block_count", 5}, {"nextn_predict_layers", 1}}) == "raraa");
}

TEST_CASE("dimensions of 1 of a convolution's weight do not matter") {
  MadeSource source = qwen35();
  source.learn();
  const Shape plain = source.find_tensor("blk.0.ssm_conv1d.weight")->shape;
  CHECK(plain == Shape{128, 4});
  for (const Shape& shape : {Shape{128, 1, 4}, Shape{1, 128, 1, 4}}) {
    source.add("blk.0.ssm_conv1d.weight", {f32, shape});
    const Graph graph = build(source);
    CHECK(node(graph, "blk.0.ssm_conv1d.weight").spec.shape == plain);
  }
  source.add("blk.0.ssm_conv1d.weight", {f32, {4, 128}});
  CHECK_THROWS_AS(build(source), ShapeError);
}

TEST_CASE("sizes that do not fit each other are refused") {
  CHECK(refusal({}) == "accepted");
  CHECK(refusal({{"ssm.conv_kernel", 1}}) ==
        "tiny.gguf: key 'qwen35.ssm.conv_kernel' is 1, must be 2..256");
  CHECK(refusal({{"ssm.state_size", 0}}) ==
        "tiny.gguf: key 'qwen35.ssm.state_size' is 0, must be 1..4096");
  CHECK(refusal({{"ssm.group_count", 4}}) ==
        "tiny.gguf: key 'qwen35.ssm.group_count' is 4, must be a divisor of the 6 value heads "
        "(ssm.time_step_rank)");
  CHECK(refusal({{"ssm.inner_size", 97}}) ==
        "tiny.gguf: key 'qwen35.ssm.inner_size' is 97, must be a multiple of the 6 value heads "
        "(ssm.time_step_rank)");
  CHECK(refusal({{"full_attention_interval", 0}}) ==
        "tiny.gguf: key 'qwen35.full_attention_interval' is 0, must be 1..4096");
  CHECK(refusal({{"attention.recurrent_layers", List{1, 0, 0}}}) ==
        "tiny.gguf: key 'qwen35.attention.recurrent_layers' has 3 numbers, must have one, or one "
        "for each of the 2 layers");
}
