// Decoders that no model has, to see what each word of a page makes of the graph.

#include "weft/arch/decoder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/arch/made_source.h"
#include "weft/ops/attention/attention.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/positions/rope.h"
#include "weft/ops/positions/rope_angles.h"
#include "weft/ops/rows/views.h"

#include "support/built_graph.h"

using namespace weft;
using namespace weft::arch;

namespace {

using test::node;

struct Numbers : Hparams {
  float doubled = 0;
};

Numbers read(const Keys& keys) {
  const Hparams c = read_hparams(keys, {.min_H = 0, .min_G = 0});
  return {c, 2 * keys.number_or("half", 0, 10, 1)};
}

// The graph of a description, over a model that is made up from it. `Describe` is a captureless
// lambda.
template <class Describe>
Graph graph_of(Describe, const std::map<std::string, MadeSource::Value>& keys = {}) {
  static constexpr Describe describe{};
  const Architecture made = decoder<describe, read>("made");
  MadeSource source("made");
  for (const auto& [key, value] : keys) source.set(key, value);
  source.learn(made);
  Graph graph = build_graph(source, made, *configure(source, made), {.tokens = 4, .context = 64});
  check(graph);
  return graph;
}

std::string input(const Graph& graph, std::string_view path, std::size_t i) {
  return graph[node(graph, path).inputs[i]].path;
}

std::size_t count(const Graph& graph, const OpDef& op) {
  std::size_t n = 0;
  for (NodeId id = 0; id < graph.size(); ++id) n += graph[id].op == &op;
  return n;
}

Tensor twice(const Layer& l, Tensor x) {
  return project(l.w, "twice", l.c.D, l.c.D, x);
}

Tensor once(const Layer& l, Tensor x) {
  return project(l.w, "once", l.c.D, l.c.D, x);
}

// A made model stretched 4 times by YaRN.
Graph stretched(const std::string& arch, std::map<std::string, MadeSource::Value> keys) {
  MadeSource source(arch);
  keys["rope.scaling.type"] = std::string("yarn");
  keys["rope.scaling.factor"] = 4.0;
  keys["rope.scaling.original_context_length"] = std::int64_t{64};
  for (const auto& [key, value] : keys) source.set(key, value);
  source.learn();
  return test::build(source);
}

// What rope multiplies by: rope_angles multiplies attn_factor by m(1).
double rope_magnitude(const Graph& graph) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].op != &kRopeAngles) continue;
    const auto attrs = graph[id].attrs.as<RopeAttrs>();
    return attrs.attn_factor * (attrs.ext_factor != 0 ? 1 - 0.1 * std::log(attrs.freq_scale) : 1);
  }
  FAIL("no rope");
  return 0;
}

TEST_CASE("magnitudes of YaRN are those of the publishers' code") {
  const double m = 1 + 0.1 * std::log(4.0);  // 1.1386
  CHECK(rope_magnitude(stretched("qwen2", {})) == doctest::Approx(m));
  CHECK(rope_magnitude(stretched("mistral3", {})) == doctest::Approx(m));
  const auto cancelled = [](const char* arch, double log_multiplier) {
    return stretched(arch, {{"rope.scaling.yarn_log_multiplier", log_multiplier}});
  };
  CHECK(rope_magnitude(cancelled("mistral3", 1)) == doctest::Approx(1));
  CHECK(rope_magnitude(cancelled("llama", 1)) == doctest::Approx(1));  // older files of Ministral 3
  for (const double mscale : {1.0, 0.707}) {
    const double scores = 1 + 0.1 * mscale * std::log(4.0);
    for (const char* arch : {"deepseek2", "mistral4", "deepseek32"}) {
      CAPTURE(arch);
      const Graph graph = cancelled(arch, 0.1 * mscale);
      const bool mscale_is_one = std::string_view(arch) == "deepseek32";
      CHECK(rope_magnitude(graph) == doctest::Approx(mscale_is_one ? m / scores : 1));
      if (mscale_is_one) continue;  // attends to chosen positions
      const bool grows = std::string_view(arch) == "deepseek2";
      CHECK(node(graph, "blk.0.attn").attrs.as<AttentionAttrs>().scale ==
            doctest::Approx((grows ? scores * scores : 1) / std::sqrt(16.0)));
    }
  }
  CHECK(node(stretched("deepseek2", {}), "blk.0.attn").attrs.as<AttentionAttrs>().scale ==
        doctest::Approx(1 / std::sqrt(16.0)));
}

TEST_CASE("the temperature of attention has the length of its key") {
  const auto length = [](const char* arch, std::map<std::string, MadeSource::Value> keys) {
    keys["attention.temperature_scale"] = 0.1;
    const Graph graph = stretched(arch, std::move(keys));
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (graph[id].op == &kAttentionTemperature)
        return graph[id].attrs.as<TemperatureAttrs>().length;
    }
    return 0;
  };
  for (const char* arch : {"mistral3", "mistral4", "deepseek2"}) {
    CAPTURE(arch);
    CHECK(length(arch, {}) == 64);
    CHECK(length(arch, {{"attention.temperature_length", std::int64_t{8192}}}) == 8192);
  }
}

}  // namespace

TEST_CASE("norms are placed as the page says") {
  const Graph graph = graph_of([](const Numbers&) -> Decoder {
    return {.layer = {{.name = "pre", .pre_norm = "pre_norm", .block = twice},
                      {.name = "post", .block = swiglu, .post_norm = "post_norm"},
                      {.name = "bert", .block = once, .sum_norm = "bert_norm"}}};
  });
  CHECK(input(graph, "blk.1.twice", 0) == "blk.1.pre_norm");
  CHECK(input(graph, "blk.1.pre_residual", 1) == "blk.1.twice");
  CHECK(input(graph, "blk.1.ffn_gate", 0) == "blk.1.pre_residual");
  CHECK(input(graph, "blk.1.post_residual", 1) == "blk.1.post_norm");
  CHECK(input(graph, "output_rows", 0) == "blk.1.bert_norm");
  CHECK(count(graph, kRopeAngles) == 0);  // not requested
}

TEST_CASE("parallel blocks share one input, and scales are placed as the page says") {
  const Graph graph = graph_of(
      [](const Numbers& c) -> Decoder {
        return {.embedding_scale = c.doubled,
                .layer = {{.name = "both",
                           .pre_norm = "norm",
                           .block = side_by_side(twice, swiglu),
                           .scale = 0.5f}},
                .logits_scale = 3};
      },
      {{"half", 3.5}});
  CHECK(input(graph, "blk.0.twice", 0) == "blk.0.norm");
  CHECK(input(graph, "blk.0.ffn_up", 0) == "blk.0.norm");
  CHECK(count(graph, kScale) == 4);  // embeddings, two layers, logits
  std::vector<float> factors;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == &kScale) factors.push_back(graph[id].attrs.as<ScaleAttrs>().factor);
  }
  CHECK(factors == std::vector<float>{7, 0.5f, 0.5f, 3});
}

TEST_CASE("queries and keys go through the steps in their order") {
  const Graph after = graph_of([](const Numbers& c) -> Decoder {
    return {.rope = {.attrs = c.rope},
            .layer = {{.name = "attn", .block = Attention{{rope_adjacent, norm_heads}, 2.0f}}}};
  });
  CHECK(input(after, "blk.0.attn", 0) == "blk.0.attn_q_norm");
  CHECK(node(after, "blk.0.attn_k_rope").attrs.as<RopeApplyAttrs>().pairs == RopePairs::adjacent);
  CHECK(node(after, "blk.0.attn").attrs.as<AttentionAttrs>().scale == 2);
  const Graph none = graph_of([](const Numbers&) -> Decoder {
    return {.layer = {{.name = "attn", .block = Attention{}}}};
  });
  CHECK(count(none, kRope) == 0);
  CHECK(node(none, "blk.0.attn").attrs.as<AttentionAttrs>().scale == 0.25f);
}

TEST_CASE("layers may differ in hyperparameters, angles and parts") {
  using List = std::vector<std::int64_t>;
  const auto describe = [](const Numbers& c) -> Decoder {
    return {.rope = {.attrs = c.rope},
            .second_rope = {.attrs = {.n_rot = c.rope.n_rot, .base = 5}},
            .layer_of = [&c](std::int64_t i) -> std::vector<Residual> {
              if (c.layer(i).H == 0) return {{.name = "ffn", .block = swiglu}};
              return {{.name = "attn", .block = Attention{{rope_halves}}},
                      {.name = "ffn", .block = swiglu}};
            }};
  };
  const Graph graph = graph_of(describe, {{"block_count", 3},
                                          {"attention.head_count", List{4, 0, 2}},
                                          {"attention.head_count_kv", List{2, 0, 1}},
                                          {"feed_forward_length", List{32, 64, 96}}});
  CHECK(graph.find("blk.1.attn_q") == kNoNode);
  CHECK(node(graph, "cache.k.0").spec.shape[1].bound == 2);
  CHECK(node(graph, "cache.k.2").spec.shape[1].bound == 1);
  CHECK(node(graph, "blk.2.attn_q").spec.shape[1].bound == 32);
  CHECK(node(graph, "blk.1.ffn_up").spec.shape[1].bound == 64);
  CHECK(node(graph, "blk.2.ffn_up").spec.shape[1].bound == 96);
  CHECK(count(graph, kRopeAngles) == 2);
}

TEST_CASE("a block of another architecture is refused") {
  MadeSource source("made");
  const auto is_doubled = [](const Layer& l, Tensor x) {
    return l.config<Numbers>().doubled == 2 ? once(l, x) : twice(l, x);
  };
  static const Block block = is_doubled;
  static constexpr auto describe = [](const Hparams&) -> Decoder {
    return {.layer = {{.name = "once", .block = block}}};
  };
  constexpr Numbers (*read_numbers)(const Keys&) = read;
  const Architecture own = decoder<describe, read_numbers>("made");
  const Architecture other = decoder<describe>("made");
  source.learn(own);
  const auto build = [&](const Architecture& a, const Hparams& c) {
    build_graph(source, a, c, {.tokens = 4, .context = 64});
  };
  build(own, *configure(source, own));
  const auto refused = [&](const Architecture& a, const Hparams& c, std::string_view end) {
    try {
      build(a, c);
      FAIL("not refused");
    } catch (const ValueError& e) {
      INFO(e.what());
      CHECK(std::string_view(e.what()).ends_with(end));
    }
  };
  const std::string_view of_numbers = " needs the config Numbers, got that of architecture 'made'";
  refused(other, *configure(source, other), of_numbers);
  refused(own, *configure(source, other), of_numbers);
  // A copy may be of the base class, without what the block reads.
  const Hparams sliced = *configure(source, own);
  refused(own, sliced, of_numbers);
}

TEST_CASE("a layer may use the second angles") {
  static constexpr auto describe = [](const Hparams& c) -> Decoder {
    return {.rope = {.attrs = c.rope},
            .second_rope = {.attrs = {.n_rot = c.rope.n_rot, .base = 5}},
            .layer = {{.name = "attn", .block = Attention{{rope_halves}}}}};
  };
  static constexpr auto read_local = [](const Keys& keys) {
    Hparams c = read_hparams(keys);
    c.layers[1].rope = LayerRope::second;
    return c;
  };
  MadeSource source("made");
  const Architecture made = decoder<describe, read_local>("made");
  source.learn(made);
  const Graph graph = build_graph(source, made, *configure(source, made), {});
  const auto base = [&](std::string_view path) {
    return graph[node(graph, path).inputs[1]].attrs.as<RopeAttrs>().base;
  };
  CHECK(base("blk.0.attn_q_rope") == 10000);
  CHECK(base("blk.1.attn_q_rope") == 5);
}
