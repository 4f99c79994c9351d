// Graphs of draft layers, and the features of steps that they read.

#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/arch/builder.h"
#include "weft/base/error.h"
#include "weft/ops/elementwise/scale.h"

#include "support/built_graph.h"
#include "support/eval.h"
#include "support/one_sequence.h"

using namespace weft;
using namespace weft::arch;

namespace {

using test::node;
using List = std::vector<std::int64_t>;
using Keys = std::map<std::string, MadeSource::Value>;

constexpr GraphOptions kDraft{
    .tokens = 8, .logits_rows = 3, .context = 64, .part = GraphPart::draft};

// Two layers, and `n` for drafts. Not learned yet.
MadeSource with_drafts(const std::string& architecture, const Keys& keys = {}, std::int64_t n = 1) {
  MadeSource source(architecture, {.draft_layers = n});
  source.path = "tiny.gguf";
  for (const auto& [key, value] : keys) source.set(key, value);
  return source;
}

MadeSource learned(const std::string& architecture, const Keys& keys = {}, std::int64_t n = 1) {
  MadeSource source = with_drafts(architecture, keys, n);
  source.learn();
  return source;
}

bool drafts(const MadeSource& source) {
  const Architecture& architecture = find_architecture(source);
  return has_draft_layers(source, architecture, *configure(source, architecture));
}

std::string input(const Graph& graph, std::string_view path, std::size_t i) {
  return graph[node(graph, path).inputs[i]].path;
}

const Node& output(const Graph& graph, std::size_t i) {
  return graph[graph.outputs()[i].node];
}

std::vector<std::string> paths(const Graph& graph) {
  std::vector<std::string> all;
  for (NodeId id = 0; id < graph.size(); ++id) all.push_back(graph[id].path);
  return all;
}

std::string refusal(const MadeSource& source, const GraphOptions& options = kDraft) {
  try {
    test::build(source, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

// The outputs of a graph with 4 tokens and random weights, which follow from their names.
std::vector<std::vector<float>> outputs(const MadeSource& source, const GraphOptions& options) {
  const Graph graph = test::build(source, options);
  test::Evaluator eval(graph);
  test::set_one_sequence(eval, graph, {3, 1, 4, 1});
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].kind != NodeKind::weight) continue;
    std::seed_seq seed(graph[id].path.begin(), graph[id].path.end());
    std::mt19937 random(seed);
    std::normal_distribution<float> noise(0, 0.3f);
    std::vector<float> values(static_cast<std::size_t>(graph[id].spec.shape.elems()));
    for (float& value : values) value = noise(random);
    eval.floats(graph[id].path, values);
  }
  eval.run();
  std::vector<std::vector<float>> all;
  for (const Graph::Output& out : graph.outputs()) all.push_back(eval.floats(out.name));
  return all;
}

}  // namespace

TEST_CASE("a draft layer reads a token and the features of the one before it") {
  const Graph graph = test::build(learned("glm4moe"), kDraft);
  CHECK(to_string(node(graph, "features").spec) == "F32 [?<=8, 64]");
  CHECK(input(graph, "blk.2.nextn.enorm.rms", 0) == "blk.2.get_rows");
  CHECK(input(graph, "blk.2.nextn.hnorm.rms", 0) == "features");
  CHECK(input(graph, "blk.2.concat", 0) == "blk.2.nextn.enorm");
  CHECK(input(graph, "blk.2.concat", 1) == "blk.2.nextn.hnorm");
  CHECK(node(graph, "blk.2.nextn.eh_proj.weight").spec.shape == Shape{64, 128});
  CHECK(input(graph, "blk.2.attn_norm.rms", 0) == "blk.2.nextn.eh_proj");
  CHECK(graph.find("cache.k.2") != kNoNode);
  CHECK(graph.find("cache.k.1") == kNoNode);
  CHECK(graph.find("blk.1.attn_norm.weight") == kNoNode);
  REQUIRE(graph.outputs().size() == 2);
  CHECK(graph.outputs()[0].name == "logits");
  CHECK(graph.outputs()[1].name == "features");
  CHECK(to_string(output(graph, 0).spec) == "F32 [?<=3, 50]");
  CHECK(to_string(output(graph, 1).spec) == "F32 [?<=8, 64]");
}

TEST_CASE("the matrices and the norm at the ends are the file's own or the model's") {
  MadeSource source = learned("qwen35", {{"full_attention_interval", 2}});
  const Graph shared = test::build(source, kDraft);
  CHECK(input(shared, "blk.2.get_rows", 0) == "token_embd.weight");
  CHECK(input(shared, "output", 1) == "token_embd.weight");
  CHECK(shared.find("output_norm.weight") != kNoNode);
  source.add("output.weight", {f32, {50, 64}});
  const Graph untied = test::build(source, kDraft);
  CHECK(input(untied, "output", 1) == "output.weight");
  source.add("blk.2.nextn.embed_tokens.weight", {f32, {50, 64}});
  source.add("blk.2.nextn.shared_head_head.weight", {f32, {50, 64}});
  source.add("blk.2.nextn.shared_head_norm.weight", {f32, {64}});
  const Graph own = test::build(source, kDraft);
  CHECK(input(own, "blk.2.get_rows", 0) == "blk.2.nextn.embed_tokens.weight");
  CHECK(input(own, "blk.2.nextn.shared_head_head", 1) == "blk.2.nextn.shared_head_head.weight");
  CHECK(own.find("blk.2.nextn.shared_head_norm") != kNoNode);
  for (const char* unused : {"output.weight", "token_embd.weight", "output_norm.weight"})
    CHECK(own.find(unused) == kNoNode);

  MadeSource other = learned("bailingmoe2");
  other.add("blk.2.layer_output_norm.weight", {f32, {64}});
  CHECK(test::build(other, kDraft).find("blk.2.layer_output_norm") != kNoNode);
}

TEST_CASE("features are taken before or after a norm") {
  const auto next = [](const char* architecture) {
    const Graph graph = test::build(learned(architecture), kDraft);
    return output(graph, 1).path;
  };
  const auto first = [](const char* architecture) {
    const Graph graph = test::build(learned(architecture), {.tokens = 4, .features = true});
    return output(graph, 1).path;
  };
  for (const char* normed : {"qwen35", "qwen35moe", "qwen3next", "hy_v3", "bailingmoe2",
                             "bailingmoe3", "exaone-moe", "cohere2moe"}) {
    CAPTURE(normed);
    CHECK(next(normed) == "output_norm");
    CHECK(first(normed) == "output_norm");
  }
  for (const char* half : {"glm4moe", "deepseek2", "deepseek32", "glm-dsa"}) {
    CAPTURE(half);
    CHECK(next(half) == "blk.2.ffn_residual");
    CHECK(first(half) == "output_norm");
  }
  for (const char* before : {"step35", "mimo2"}) {
    CAPTURE(before);
    CHECK(next(before) == "blk.2.ffn_residual");
    CHECK(first(before) == "blk.1.ffn_residual");
  }
}

TEST_CASE("features of steps change nothing else") {
  for (const char* architecture : {"qwen35", "glm4moe", "step35", "cohere2moe", "gemma2"}) {
    CAPTURE(architecture);
    const MadeSource source = learned(architecture);
    GraphOptions options{.tokens = 4, .logits_rows = 4, .context = 64};
    const auto without = outputs(source, options);
    options.features = true;
    const auto with = outputs(source, options);
    REQUIRE(with.size() == 2);
    REQUIRE(without.size() == 1);
    CHECK(with[0] == without[0]);
    CHECK(with[1].size() == 4 * 64);
  }
  // The file's draft layers are not part of the graph of steps.
  MadeSource plain("qwen3");
  plain.learn();
  CHECK(paths(test::build(plain)) == paths(test::build(learned("qwen3"))));
}

TEST_CASE("draft layers have attention to everything, and experts unless the file says otherwise") {
  const Graph hybrid = test::build(learned("qwen35", {{"full_attention_interval", 4}}), kDraft);
  CHECK(hybrid.find("blk.2.delta_rule") == kNoNode);
  CHECK(node(hybrid, "blk.2.attn").op->name == "attention");
  CHECK(hybrid.find("rows_from") == kNoNode);

  MadeSource source = learned("exaone-moe", {{"expert_count", 4}, {"expert_used_count", 2}});
  const auto built = [&] { return test::build(source, kDraft); };
  CHECK(built().find("blk.2.ffn_gate_inp") != kNoNode);
  CHECK(built().find("first") != kNoNode);
  source.keys["exaone-moe.attention.sliding_window_pattern"] = List{1, 0, 1};
  CHECK(built().find("first.w128") != kNoNode);
  CHECK(built().find("blk.2.attn_q_rope") != kNoNode);
  for (const char* name : {"ffn_gate", "ffn_up"})
    source.add(fmt::format("blk.2.{}.weight", name), {f32, {96, 64}});
  source.add("blk.2.ffn_down.weight", {f32, {64, 96}});
  CHECK(refusal(source).find("does not use tensors 'blk.2.ffn_") != std::string::npos);
  for (const std::string name : {"gate_inp", "gate_exps", "up_exps", "down_exps"})
    source.remove("blk.2.ffn_" + name + ".weight");
  for (const std::string name : {"gate", "up", "down"})
    source.remove("blk.2.ffn_" + name + "_shexp.weight");
  CHECK(built().find("blk.2.ffn_up") != kNoNode);

  CHECK(test::build(learned("mimo2"), kDraft).find("blk.2.ffn_up") != kNoNode);
  const Graph cohere =
      test::build(learned("cohere2moe", {{"expert_count", 4}, {"expert_used_count", 2}}), kDraft);
  CHECK(cohere.find("blk.2.ffn_gate_inp") != kNoNode);
  CHECK(cohere.find("blk.2.attn_q_rope") != kNoNode);
  CHECK(cohere.find("first") != kNoNode);
}

TEST_CASE("layers of their own have their own numbers of heads, windows, rope and limits") {
  const Graph graph =
      test::build(learned("step35", {{"attention.head_count", List{4, 4, 8}},
                                     {"attention.key_length", 16},
                                     {"attention.value_length", 16},
                                     {"attention.sliding_window", 7},
                                     {"attention.sliding_window_pattern", List{0, 1, 1}}}),
                  kDraft);
  CHECK(node(graph, "blk.2.attn_q.weight").spec.shape == Shape{8 * 16, 64});
  CHECK(graph.find("first.w7") != kNoNode);
  const Node& angles = graph[node(graph, "blk.2.attn_q_rope").inputs[1]];
  CHECK(angles.spec.shape[1].bound == 16);  // layers without a window turn half as much
}

TEST_CASE("logits of drafts are scaled like the model's") {
  const Graph graph = test::build(learned("cohere2moe", {{"logit_scale", 0.25}}), kDraft);
  CHECK(output(graph, 0).attrs.as<ScaleAttrs>().factor == 0.25f);
}

TEST_CASE("which files have draft layers") {
  CHECK(drafts(learned("glm4moe")));
  MadeSource none("glm4moe");
  none.learn();
  CHECK_FALSE(drafts(none));
  MadeSource counted = learned("glm4moe");
  counted.remove("blk.2.nextn.eh_proj.weight");
  CHECK_FALSE(drafts(counted));
  for (const char* unknown : {"nemotron_h_moe", "openpangu", "deepseek4", "bert"}) {
    CAPTURE(unknown);
    MadeSource source = learned(unknown);
    source.add("blk.2.nextn.eh_proj.weight", {f32, {64, 128}});
    CHECK_FALSE(drafts(source));
  }
}

TEST_CASE("the first of several draft layers is used") {
  MadeSource source = learned("qwen35", {}, 3);
  source.add("blk.3.nextn.eh_proj.weight", {f32, {1, 2}});
  source.add("blk.4.surplus.weight", {f32, {1}});
  CHECK(drafts(source));
  CHECK(test::build(source, kDraft).find("blk.2.nextn.eh_proj") != kNoNode);
  CHECK(refusal(source, {}) == "accepted");
}

TEST_CASE("draft layers that lack something or have too much are refused") {
  MadeSource source = learned("glm4moe");
  source.add("blk.2.surplus.weight", {f32, {4}});
  CHECK(refusal(source) ==
        "tiny.gguf: architecture 'glm4moe' does not use tensor 'blk.2.surplus.weight'");
  source.remove("blk.2.surplus.weight");
  source.add("surplus.weight", {f32, {4}});
  CHECK(refusal(source) == "accepted");  // the graph of steps refuses it
  source.add("blk.2.nextn.eh_proj.weight", {f32, {64, 64}});
  CHECK(refusal(source).starts_with(
      "tiny.gguf: tensor 'blk.2.nextn.eh_proj.weight' must be [64, 128], got [64, 64]"));
  source.add("blk.2.nextn.eh_proj.weight", {f32, {64, 128}});
  source.remove("blk.2.nextn.hnorm.weight");
  CHECK(refusal(source).starts_with("tiny.gguf: tensor 'blk.2.nextn.hnorm.weight' is missing"));
}

TEST_CASE("numbers of each layer that end before the draft layer") {
  MadeSource source = learned("apertus");
  CHECK(refusal(source) == "accepted");
  source.keys["xielu.alpha_p"] = List{1, 1};
  CHECK(refusal(source, {}) == "accepted");
  CHECK(refusal(source).find("no number for layer 2, which drafts") != std::string::npos);
  source.keys["xielu.alpha_p"] = List{1, 1, 1};
  CHECK(refusal(source) == "accepted");
}

TEST_CASE("draft graphs of every architecture with them are complete") {
  for (const Architecture* architecture : architectures()) {
    if (!architecture->draft) continue;
    CAPTURE(architecture->name);
    for (const bool optional : {false, true}) {
      MadeSource source = with_drafts(std::string(architecture->name));
      source.optional_tensors = optional;
      CHECK_NOTHROW(source.learn());
      if (!configure(source, *architecture)->causal) continue;
      CHECK(drafts(source));
      CHECK(refusal(source) == "accepted");
    }
  }
}
