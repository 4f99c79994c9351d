#include "weft/scheduler/shard.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/attention/attention.h"
#include "weft/ops/attention/cache_write.h"
#include "weft/ops/cuts.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/ids/top_k.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/norms/softmax.h"
#include "weft/ops/projections/expert_linear.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/ranks/collectives.h"
#include "weft/ops/rows/gather.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/slice_heads.h"
#include "weft/ops/rows/views.h"
#include "weft/ops/rows/weighted_sum.h"

#include "shard/split_projections.h"

namespace weft {
namespace {

// A model of two layers with 4 heads of 8 elements in 2 groups; queries, keys and values are one
// matrix.
Graph model(std::int64_t n_layers = 2) {
  Graph g;
  const Dim t = g.variable("T", 4);
  const Tensor tokens = g.input("tokens", {i32, {t}}), cells = g.input("cells", {i32, {t}});
  const AttentionRuns runs{g.input("table", {i32, {1, 1}}), g.input("row", {i32, {t}}),
                           g.input("first", {i32, {t}}), cells};
  const Tensor embd = g.weight("embd.weight", {f32, {40, 32}});
  Tensor h = get_rows(embd, tokens);
  for (std::int64_t i = 0; i < n_layers; ++i) {
    const Graph::Scope scope(g, "blk." + std::to_string(i));
    const std::string prefix = "blk." + std::to_string(i) + ".";
    const auto w = [&](const char* name, const Shape& shape) {
      return g.weight(prefix + name, {f32, shape});
    };
    const Tensor x = rms_norm(h, w("norm.weight", {32}), 1e-5F);
    const Tensor qkv = linear(x, w("qkv.weight", {64, 32}));
    const auto heads = [&](std::int64_t begin, std::int64_t end) {
      return split_heads(slice(qkv, begin, end), (end - begin) / 8);
    };
    const auto cache = [&](const char* name, Tensor part) {
      return cache_write(g.state(prefix + name, {f16, {1, 2, 64, 8}}), part, cells);
    };
    const Tensor y =
        attention(heads(0, 32), cache("k", heads(32, 48)), cache("v", heads(48, 64)), runs, {1});
    h = add(h, linear(merge_heads(y), w("out.weight", {32, 32}), w("out.bias", {32})));
    const Tensor z = rms_norm(h, 1e-5F);
    const Tensor gate = silu(linear(z, w("gate.weight", {96, 32})));
    const Tensor up = linear(z, w("up.weight", {96, 32}));
    h = add(h, linear(mul(gate, up), w("down.weight", {32, 96})));
  }
  g.output("logits", linear(h, embd));
  return g;
}

std::vector<std::string> paths_of(const Graph& graph, const OpDef& op) {
  std::vector<std::string> paths;
  for (NodeId id = 0; id < graph.size(); ++id)
    if (graph[id].op == &op) paths.push_back(graph[id].path);
  return paths;
}

std::string spec_of(const RankGraph& rank, std::string_view path) {
  const NodeId id = rank.graph.find(path);
  return id == kNoNode ? "none" : to_string(rank.graph[id].spec);
}

std::string refusal(const Graph& graph, const Sharding& sharding) {
  try {
    shard(graph, sharding, 0);
  } catch (const ValueError& error) {
    return error.what();
  }
  return "none";
}

TEST_CASE("shardings as texts") {
  CHECK(parse_sharding("tp=2") == Sharding{.tp = 2});
  CHECK(parse_sharding("pp=4") == Sharding{.pp = 4});
  CHECK(parse_sharding("pp=3,tp=2") == Sharding{.tp = 2, .pp = 3});
  CHECK(to_string(Sharding{.tp = 2, .pp = 3}) == "tp=2,pp=3");
  CHECK(to_string(Sharding{.tp = 2}) == "tp=2");
  CHECK(to_string(Sharding{.pp = 2}) == "pp=2");
  for (const char* bad : {"", "tp", "tp=", "tp=0", "tp=-1", "tp=2x", "tp=257", "tp=2,", "tp=2,tp=2",
                          "tp=32,pp=32", "sideways=2", "tp=2 pp=2"})
    CHECK_THROWS_AS(parse_sharding(bad), ValueError);
}

TEST_CASE("tensor parallel: two sums per layer, heads by groups, a gathered vocabulary") {
  const RankGraph r0 = shard(model(), {.tp = 2, .min_elems = 0}, 0),
                  r1 = shard(model(), {.tp = 2, .min_elems = 0}, 1);
  using Paths = std::vector<std::string>;
  for (const RankGraph* rank : {&r0, &r1}) {
    CHECK(paths_of(rank->graph, kAllReduce).size() == 4);
    CHECK(paths_of(rank->graph, kAllGather) == Paths{"embd.all"});
    CHECK(spec_of(*rank, "blk.0.k") == "F16 [1, 1, 64, 8]");
    CHECK(spec_of(*rank, "blk.1.attention") == "F32 [?<=4, 2, 8]");
    CHECK(spec_of(*rank, "embd.weight") == "F32 [40, 32]");  // for the rows of tokens
    CHECK(rank->results == std::vector<std::string>{"logits"});
  }
  CHECK(spec_of(r0, "blk.0.qkv.weight[0:16]") == "F32 [16, 32]");
  CHECK(spec_of(r1, "blk.0.qkv.weight[16:32]") == "F32 [16, 32]");
  CHECK(spec_of(r1, "blk.0.qkv.weight[40:48]") == "F32 [8, 32]");
  CHECK(spec_of(r1, "blk.0.down.weight[:,48:96]") == "F32 [32, 48]");
  CHECK(spec_of(r1, "embd.weight[20:40]") == "F32 [20, 32]");
  CHECK(spec_of(r0, "blk.0.out.bias") == "F32 [32]");  // is added once
  CHECK(spec_of(r1, "blk.0.out.bias") == "none");
  const auto part = std::ranges::find(r1.parts, "blk.0.qkv.weight[40:48]", &WeightPart::name);
  REQUIRE(part != r1.parts.end());
  CHECK(*part == WeightPart{"blk.0.qkv.weight[40:48]", "blk.0.qkv.weight", {{0, 40, 48}}});
}

// An op of someone else: x, negated, with what it says about its parts.
OpDef negated_op(const OpCuts& cuts) {
  static constexpr OpInput kInputs[] = {{"x", Reach::all}};
  return {.name = "negated",
          .inputs = kInputs,
          .infer = [](const Attrs&, Specs in) { return in[0]; },
          .splits_rows = false,
          .custom = true,
          .cuts = cuts};
}

// Between two projections.
Graph model_with(const OpDef& op) {
  Graph g;
  const Tensor x = g.input("x", {f32, {g.variable("T", 4), 32}});
  const Tensor up = linear(x, g.weight("up.weight", {f32, {96, 32}}));
  const Tensor y = g.add(op, std::array{up}, {}, std::source_location::current());
  g.output("y", linear(y, g.weight("down.weight", {f32, {32, 96}})));
  return g;
}

TEST_CASE("an op that says how it is cut is divided, one that does not is named") {
  const Sharding two{.tp = 2, .min_elems = 0};
  const OpDef divided = negated_op({.inputs = cut_elementwise});
  const RankGraph part = shard(model_with(divided), two, 1);
  CHECK(spec_of(part, "negated") == "F32 [?<=4, 48]");
  CHECK(paths_of(part.graph, kAllReduce) == std::vector<std::string>{"down.sum"});
  CHECK(part.undivided.empty());

  const OpDef silent = negated_op({}), intended = negated_op({.whole = true});
  const RankGraph whole = shard(model_with(silent), two, 1);
  CHECK(spec_of(whole, "negated") == "F32 [?<=4, 96]");
  REQUIRE(whole.undivided == std::vector<UndividedOp>{{"negated", false, 1, "negated"}});
  CHECK(to_string(whole.undivided[0], {.tp = 2, .pp = 3}) ==
        "every rank of tp=2 computes all of negated (1 node, such as 'negated'): the op does not "
        "say how it is divided");
  CHECK(shard(model_with(intended), two, 0).undivided.empty());
  CHECK(shard(model_with(silent), {.tp = 1}, 0).undivided.empty());
}

TEST_CASE("cuts that do not fit the node are a fault of the op") {
  const OpDef wrong =
      negated_op({.inputs = [](const Attrs&, Specs, const TensorSpec&, const Cut& cut) {
        return Cuts({cut, cut});
      }});
  CHECK_THROWS_WITH_AS(shard(model_with(wrong), {.tp = 2, .min_elems = 0}, 0),
                       "op 'negated' has 1 inputs at 'negated', but gives cuts of 2", Error);
}

TEST_CASE("an operand with other rows than heads is not cut by them") {
  const TensorSpec out{f32, {3, 4, 8}};
  const Cut heads{.axis = 1, .ends = {2, 4}};
  const auto cuts_with = [&](const Shape& operand) {
    const std::array in{out, TensorSpec{f32, operand}};
    return cut_elementwise({}, in, out, heads);
  };
  REQUIRE(cuts_with({4, 8}));
  CHECK((*cuts_with({4, 8}))[1] == Cut{.axis = 0, .ends = {2, 4}});
  CHECK(cuts_with({6, 8}) == std::nullopt);
  CHECK((*cuts_with({8}))[1].whole());
}

TEST_CASE("parts of parts are parts of the source, in one or two dimensions") {
  scheduler::PartNames parts;
  const std::string rows = parts.name("w", {0, 100, 200});
  CHECK(rows == "w[100:200]");
  CHECK(parts.name(rows, {0, 10, 20}) == "w[110:120]");
  const std::string corner = parts.name(rows, {1, 32, 64});
  CHECK(corner == "w[100:200,32:64]");
  CHECK(*parts.find(corner) == WeightPart{corner, "w", {{0, 100, 200}, {1, 32, 64}}});
  CHECK(parts.name(parts.name("w", {1, 32, 64}), {0, 100, 200}) == corner);
  CHECK(parts.name(corner, {1, 0, 8}) == "w[100:200,32:40]");
  CHECK(parts.name("e", {2, 1, 2}) == "e[:,:,1:2]");
  CHECK(parts.name("e[:,:,1:2]", {0, 3, 4}) == "e[3:4,:,1:2]");
  CHECK(parts.find("w") == nullptr);
}

TEST_CASE("rows of a fused matrix are cut by columns, too") {
  Graph g;
  const Dim t = g.variable("T", 4);
  const Tensor x = g.input("x", {f32, {t, 8}});
  const Tensor inner = linear(x, g.weight("inner.weight", {f32, {32, 8}}));
  const Tensor both = linear(inner, g.weight("both.weight", {f32, {48, 32}}));
  g.output("y", silu(slice(both, 24, 48)));
  const RankGraph r = shard(g, {.tp = 2, .min_elems = 0}, 1);
  CHECK(spec_of(r, "inner.weight[16:32]") == "F32 [16, 8]");
  CHECK(spec_of(r, "both.weight[24:48,16:32]") == "F32 [24, 16]");
  const auto part = std::ranges::find(r.parts, "both.weight[24:48,16:32]", &WeightPart::name);
  REQUIRE(part != r.parts.end());
  CHECK(part->source == "both.weight");
}

// A mixture of 5 experts, of which each token uses 2; `width` columns of experts.
Graph mixture(DType type, std::int64_t width, bool fused = false) {
  Graph g;
  const Dim t = g.variable("T", 4);
  const Tensor x = g.input("x", {f32, {t, 64}});
  const auto w = [&](const char* name, const Shape& shape) {
    return g.weight(name, {type, shape});
  };
  const Tensor router = linear(x, g.weight("router.weight", {f32, {5, 64}}));
  const Tensor ids = top_k(router, {.k = 2});
  Tensor gate, up;
  if (fused) {
    const Tensor both = expert_linear(x, w("gate_up.weight", {5, 2 * width, 64}), ids);
    gate = slice_heads(both, 0, width);
    up = slice_heads(both, width, 2 * width);
  } else {
    gate = expert_linear(x, w("gate.weight", {5, width, 64}), ids);
    up = expert_linear(x, w("up.weight", {5, width, 64}), ids);
  }
  const Tensor y = expert_linear(mul(silu(gate), up), w("down.weight", {5, 64, width}), ids);
  g.output("y", add(x, weighted_sum(y, softmax(gather(router, ids)))));
  return g;
}

TEST_CASE("experts are cut by their columns if ranks get as much") {
  const RankGraph r = shard(mixture(q8_0, 64), {.tp = 2, .min_elems = 0}, 1);
  CHECK(spec_of(r, "gate.weight[:,32:64]") == "Q8_0 [5, 32, 64]");
  CHECK(spec_of(r, "down.weight[:,:,32:64]") == "Q8_0 [5, 64, 32]");
  CHECK(paths_of(r.graph, kAllReduce) == std::vector<std::string>{"weighted_sum.sum"});
}

TEST_CASE("ranks have some of the experts whose columns cannot be cut, or not as evenly") {
  for (const Graph& whole :
       {mixture(q8_0, 32), mixture(f32, 64, true), mixture(q8_0, 128), mixture(q8_0, 32, true)}) {
    for (int rank = 0; rank < 3; ++rank) {
      const RankGraph r = shard(whole, {.tp = 3, .min_elems = 0}, rank);
      CHECK(paths_of(r.graph, kExpertLinear) == paths_of(whole, kExpertLinear));
      CHECK(paths_of(r.graph, kAllReduce) == std::vector<std::string>{"weighted_sum.sum"});
      const std::int64_t first = 5 * rank / 3, end = 5 * (rank + 1) / 3;
      for (const std::string& path : paths_of(r.graph, kExpertLinear)) {
        CAPTURE(path);
        const Node& node = r.graph[r.graph.find(path)];
        CHECK(node.attrs.as<ExpertLinearAttrs>().first == first);
        CHECK(node.attrs.as<ExpertLinearAttrs>().all == 5);
        const Node& w = r.graph[node.inputs[1]];
        CHECK(w.path == fmt::format("{}.weight[{}:{}]", path, first, end));
        CHECK(w.spec.shape[0].bound == end - first);
      }
    }
  }
}

TEST_CASE("all projections of what experts computed become terms") {
  for (const std::int64_t width : {32, 64}) {  // by experts, by columns
    Graph g = mixture(q8_0, width);
    const Tensor ids = g.tensor(g.find("top_k")), x = g.tensor(g.find("mul"));
    const Tensor low = expert_linear(x, g.weight("low.weight", {f32, {5, 4, width}}), ids);
    g.output("other", expert_linear(low, g.weight("high.weight", {f32, {5, 64, 4}}), ids));
    const RankGraph r = shard(g, {.tp = 2, .min_elems = 0}, 0);
    CHECK(paths_of(r.graph, kAllReduce) == std::vector<std::string>{"weighted_sum.sum", "low.sum"});
    CHECK(spec_of(r, width == 32 ? "low.weight[0:2]" : "low.weight[:,:,0:32]") ==
          (width == 32 ? "F32 [2, 4, 32]" : "F32 [5, 4, 32]"));
    CHECK(spec_of(r, "high.weight") == "F32 [5, 64, 4]");
  }
}

TEST_CASE("experts stay whole where there are fewer than ranks, or results are needed whole") {
  CHECK(spec_of(shard(mixture(q8_0, 32), {.tp = 6, .min_elems = 0}, 5), "down.weight") ==
        "Q8_0 [5, 64, 32]");
  Graph g = mixture(q8_0, 32);
  g.output("up", g.tensor(g.find("up")));
  CHECK(spec_of(shard(g, {.tp = 2, .min_elems = 0}, 1), "down.weight") == "Q8_0 [5, 64, 32]");
}

TEST_CASE("pipeline parallel: layers by rank, activations sent on, results for rank 0") {
  const Sharding sharding{.pp = 2, .min_elems = 0};
  const RankGraph r0 = shard(model(), sharding, 0), r1 = shard(model(), sharding, 1);
  using Paths = std::vector<std::string>;
  CHECK(paths_of(r0.graph, kSend) == Paths{"blk.0.add_1.send"});
  CHECK(paths_of(r0.graph, kRecv) == Paths{"logits.recv"});
  CHECK(paths_of(r1.graph, kRecv) == Paths{"blk.0.add_1.recv"});
  CHECK(paths_of(r1.graph, kSend) == Paths{"logits.send"});
  CHECK(r0.parts.empty());
  CHECK(spec_of(r0, "blk.1.k") == "none");
  CHECK(spec_of(r1, "blk.0.k") == "none");
  CHECK(spec_of(r1, "blk.1.k") == "F16 [1, 2, 64, 8]");
  CHECK(r0.results == std::vector<std::string>{"logits"});
}

TEST_CASE("both: groups of ranks") {
  const Sharding sharding{.tp = 2, .pp = 2, .min_elems = 0};
  const RankGraph r3 = shard(model(), sharding, 3);
  const auto sums = paths_of(r3.graph, kAllReduce);
  REQUIRE(sums.size() == 2);
  const auto& group = r3.graph[r3.graph.find(sums[0])].attrs.as<GroupAttrs>();
  CHECK(group.first == 2);
  CHECK(group.ranks == 2);
  const auto received = paths_of(r3.graph, kRecv);
  REQUIRE(received.size() == 1);
  CHECK(r3.graph[r3.graph.find(received[0])].attrs.as<PeerAttrs>().peer == 1);
  CHECK(paths_of(r3.graph, kSend).empty());  // rank 2 sends the logits
  CHECK(paths_of(shard(model(), sharding, 2).graph, kSend).size() == 1);
}

TEST_CASE("a sharding with one rank changes nothing") {
  const Graph whole = model();
  const RankGraph r = shard(whole, {.min_elems = 0}, 0);
  CHECK(r.parts.empty());
  REQUIRE(r.graph.size() == whole.size());
  for (const OpDef* op : {&kLinear, &kSlice, &kAttention})
    CHECK(paths_of(r.graph, *op) == paths_of(whole, *op));
}

TEST_CASE("shardings that do not divide a model are refused") {
  CHECK(refusal(model(), {.tp = 3}) ==
        "tp=3 does not divide the 4 heads and 2 key/value heads of 'blk.0.attention' (possible: "
        "tp=2)");
  CHECK(refusal(model(), {.pp = 3}) ==
        "pp=3 needs at least as many layers, the model has 2 (up to pp=2)");
}

TEST_CASE("small projections are not worth an exchange") {
  const RankGraph r = shard(model(), {.tp = 2, .min_elems = 1 << 20}, 0);
  CHECK(paths_of(r.graph, kLinear).size() > 0);
  CHECK(spec_of(r, "blk.0.down.weight") == "F32 [32, 96]");
}

}  // namespace
}  // namespace weft
