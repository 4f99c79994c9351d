// Architectures with two graphs: one for the encoder, one for the decoder.
#include <string>

#include <doctest/doctest.h>

#include "weft/arch/builder.h"
#include "weft/base/error.h"
#include "weft/ops/attention/attention.h"

#include "support/built_graph.h"
#include "support/made_source.h"

using namespace weft;
using namespace weft::arch;
using weft::test::tiny_source;

namespace {

using test::node;

ModelGraph build(const MadeSource& source, bool encoder) {
  const Architecture& architecture = find_architecture(source);
  return build_model_graph(source, architecture, *configure(source, architecture),
                           {.tokens = 8,
                            .logits_rows = 3,
                            .sequences = 2,
                            .context = 70,
                            .cache_k = f32,
                            .cache_v = f16,
                            .part = encoder ? GraphPart::encoder : GraphPart::steps});
}

std::string refusal(const MadeSource& source, bool encoder) {
  try {
    build(source, encoder);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("t5: the encoder keeps what its decoder attends to") {
  const MadeSource source = tiny_source("t5");
  const ModelGraph encoder = build(source, true), decoder = build(source, false);
  check(encoder.graph);
  check(decoder.graph);
  for (const ModelGraph* built : {&encoder, &decoder}) {
    const Graph& graph = built->graph;
    CHECK(node(graph, "encoded.k.1").spec == TensorSpec{f32, {4, 2, 64, 16}});
    CHECK(node(graph, "encoded.v.1").spec == TensorSpec{f16, {4, 2, 64, 16}});
    REQUIRE(built->memory.size() == 2);
  }
  // One text at a time, without a share of the cells of sequences.
  CHECK(node(encoder.graph, "text.k.1").spec == TensorSpec{f32, {2, 2, 64, 16}});
  CHECK(node(encoder.graph, "table").spec == TensorSpec{i32, {1, 2}});
  CHECK(node(decoder.graph, "cache.k.1").spec == TensorSpec{f32, {4, 2, 64, 16}});
  CHECK(node(decoder.graph, "table.encoded").spec == TensorSpec{i32, {2, 2}});
  CHECK(node(encoder.graph, "enc.blk.1.attn").op == &kBiasedAttention);
  CHECK(node(decoder.graph, "dec.blk.1.attn").op == &kBiasedAttention);
  CHECK(node(decoder.graph, "dec.blk.1.cross_attn").op == &kAttention);
  CHECK(node(decoder.graph, "dec.blk.1.cross_attn").attrs.as<AttentionAttrs>().scale == 1);
  CHECK(encoder.graph.outputs()[0].name == "embeddings");
  CHECK(decoder.graph.outputs()[0].name == "logits");
}

TEST_CASE("t5: the first layer's distances serve all layers that have none") {
  MadeSource source = tiny_source("t5");
  const auto distances_of = [&](bool encoder, const char* path) {
    const ModelGraph built = build(source, encoder);
    return built.graph[node(built.graph, path).inputs.back()].path;
  };
  CHECK(distances_of(true, "enc.blk.1.attn") == "enc.blk.0.bucket_distances");
  CHECK(distances_of(false, "dec.blk.1.attn") == "dec.blk.0.bucket_distances");
  source.add("dec.blk.1.attn_rel_b.weight", {f32, {32, 4}});
  CHECK(distances_of(false, "dec.blk.1.attn") == "dec.blk.1.bucket_distances");
}

TEST_CASE("t5: a decoder of another depth, an own head, gated ffns") {
  MadeSource source("t5");
  source.keys["t5.decoder_block_count"] = std::int64_t{3};
  source.learn();
  source.add("output.weight", {f32, {50, 64}});
  for (const char* part : {"enc.blk.0", "enc.blk.1", "dec.blk.0", "dec.blk.1", "dec.blk.2"})
    source.add(std::string(part) + ".ffn_gate.weight", {f32, {96, 64}});
  const ModelGraph decoder = build(source, false);
  CHECK(decoder.graph.find("dec.blk.2.cross_attn") != kNoNode);
  CHECK(decoder.graph.find("dec.blk.3.cross_attn") == kNoNode);
  CHECK(decoder.graph.find("dec.blk.2.ffn_gate") != kNoNode);
  CHECK(decoder.graph[node(decoder.graph, "output").inputs[1]].path == "output.weight");
  CHECK(build(source, true).graph.find("encoded.v.2") != kNoNode);
}

TEST_CASE("t5: files that lack something or have too much") {
  MadeSource source = tiny_source("t5");
  source.path = "tiny.gguf";
  source.add("dec.blk.0.cross_attn_rel_b.weight", {f32, {32, 4}});  // files have it, unused
  CHECK(refusal(source, false) == "accepted");
  source.add("enc.blk.0.surplus.weight", {f32, {4}});
  CHECK(refusal(source, true) ==
        "tiny.gguf: architecture 't5' does not use tensor 'enc.blk.0.surplus.weight'");
  source.remove("enc.blk.0.surplus.weight");
  source.remove("dec.blk.1.cross_attn_v.weight");
  CHECK(refusal(source, true)
            .starts_with("tiny.gguf: tensor 'dec.blk.1.cross_attn_v.weight' is missing"));
  source.keys["t5.attention.relative_buckets_count"] = std::int64_t{31};
  CHECK(refusal(source, false) ==
        "tiny.gguf: key 't5.attention.relative_buckets_count' is 31, must be even, from 4 to 254");
  source.keys["t5.attention.relative_buckets_count"] = std::int64_t{0};
  CHECK(refusal(source, false) ==
        "tiny.gguf: key 't5.attention.relative_buckets_count' is 0, must be 1..254");
}

TEST_CASE("t5encoder: tokens see later ones if the file says so") {
  MadeSource source = tiny_source("t5encoder");
  const auto last_of = [&] {
    const ModelGraph built = build(source, false);
    return built.graph[node(built.graph, "enc.blk.0.attn").inputs[6]].path;
  };
  CHECK(last_of() == "pos");
  source.keys["t5encoder.attention.causal"] = false;
  CHECK(last_of() == "ends");
}
