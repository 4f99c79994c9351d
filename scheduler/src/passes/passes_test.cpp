#include "weft/scheduler/passes.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/elementwise/silu_mul.h"
#include "weft/ops/norms/rms_norm_mul.h"
#include "weft/ops/projections/gated_linear.h"
#include "weft/ops/projections/linear_concat.h"
#include "weft/ops/recurrent/causal_conv.h"

#include "support/eval.h"
#include "support/runs.h"
#include "support/toy_llama.h"

namespace weft {
namespace {

using namespace weft::test;

const Pass& pass(std::string_view name) {
  const auto passes = fusion_passes();
  return *std::find_if(passes.begin(), passes.end(), [&](const Pass& p) { return p.name == name; });
}

std::int64_t count(const Graph& graph, std::string_view op) {
  std::int64_t n = 0;
  for (NodeId id = 0; id < graph.size(); ++id) n += graph[id].op && graph[id].op->name == op;
  return n;
}

std::int64_t ops(const Graph& graph) {
  std::int64_t n = 0;
  for (NodeId id = 0; id < graph.size(); ++id) n += graph[id].op != nullptr;
  return n;
}

// Every float input and weight gets random values that depend on its path alone.
void fill(Evaluator& eval, const Graph& graph) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.op || node.spec.dtype != f32) continue;
    std::mt19937 random(static_cast<std::uint32_t>(std::hash<std::string>{}(node.path)));
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> values(static_cast<std::size_t>(node.spec.shape.elems()));
    for (float& v : values) v = uniform(random);
    eval.floats(node.path, values);
  }
}

// Both graphs give the same outputs, as far apart as the fused node's bound allows an
// implementation to be.
void check_equal(const Graph& plain, const Graph& fused, std::string_view output) {
  Evaluator a(plain), b(fused);
  fill(a, plain);
  fill(b, fused);
  const auto want = a.run().floats(output), got = b.run().floats(output);
  const auto bounds = b.bounds(output);
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(got[i] - want[i]) <= bounds[i]);
  }
}

// Passes keep the paths of outputs, record which pass made each node, and change nothing the second
// time.
void check_form(const Graph& plain, const Graph& fused, const Pass& by) {
  check(fused);
  for (std::size_t i = 0; i < plain.outputs().size(); ++i) {
    CHECK(fused[fused.outputs()[i].node].path == plain[plain.outputs()[i].node].path);
  }
  const Graph again = by.apply(fused);
  REQUIRE(again.size() == fused.size());
  for (NodeId id = 0; id < again.size(); ++id) {
    CHECK(again[id].path == fused[id].path);
    CHECK(again[id].op == fused[id].op);
    CHECK(again[id].made_by == fused[id].made_by);
  }
}

struct Small {
  Graph g;
  Tensor x = g.input("x", {f32, {3, 8}});
  Tensor w(const char* name, std::int64_t n = 8) { return g.weight(name, {f32, {n, 8}}); }
  Tensor vec(const char* name, std::int64_t n = 8) { return g.weight(name, {f32, {n}}); }
};

TEST_CASE("fuse_norm_scale: rms_norm and its weight become one node") {
  Small s;
  s.g.output("y", rms_norm(s.x, s.vec("w"), 1e-5f).named("norm"));
  const Graph fused = pass("fuse_norm_scale").apply(s.g);
  CHECK(ops(fused) == 1);
  const Node& node = fused[fused.find("norm")];
  CHECK(node.op == &kRmsNormMul);
  CHECK(node.made_by == "fuse_norm_scale");
  CHECK(to_string(node.where) == to_string(s.g[s.g.find("norm")].where));
  check_form(s.g, fused, pass("fuse_norm_scale"));
  check_equal(s.g, fused, "y");
}

TEST_CASE("fuse_norm_scale keeps a norm with another user") {
  Small s;
  const Tensor norm = rms_norm(s.x, 1e-5f);
  SUBCASE("a second user") {
    s.g.output("z", silu(norm));
  }
  SUBCASE("an output") {
    s.g.output("z", norm);
  }
  s.g.output("y", norm * s.vec("w"));
  CHECK(count(pass("fuse_norm_scale").apply(s.g), "rms_norm_mul") == 0);
}

TEST_CASE("fuse_norm_scale keeps a product of whole tensors") {
  Small s;
  s.g.output("y", rms_norm(s.x, 1e-5f) * s.x);
  CHECK(count(pass("fuse_norm_scale").apply(s.g), "rms_norm_mul") == 0);
}

TEST_CASE("fuse_gate_up: both orders of the product") {
  for (const bool swapped : {false, true}) {
    Small s;
    const Tensor gate = silu(linear(s.x, s.w("gate", 6))), up = linear(s.x, s.w("up", 6));
    s.g.output("y", (swapped ? up * gate : gate * up).named("ffn"));
    const Graph fused = pass("fuse_gate_up").apply(s.g);
    CHECK(ops(fused) == 1);
    const Node& node = fused[fused.find("ffn")];
    CHECK(node.op == &kGatedLinear);
    CHECK(fused[node.inputs[1]].path == "gate");
    check_form(s.g, fused, pass("fuse_gate_up"));
    check_equal(s.g, fused, "y");
  }
}

TEST_CASE("fuse_gate_up ignores what is not a gated pair") {
  Small s;
  const Tensor up = linear(s.x, s.w("up"));
  SUBCASE("another input") {
    s.g.output("y", silu(linear(silu(s.x), s.w("gate"))) * up);
  }
  SUBCASE("a bias") {
    s.g.output("y", silu(linear(s.x, s.w("gate"), s.vec("b"))) * up);
  }
  SUBCASE("up used twice") {
    s.g.output("y", silu(linear(s.x, s.w("gate"))) * up);
    s.g.output("z", silu(up));
  }
  SUBCASE("an output inside") {
    const Tensor gate = linear(s.x, s.w("gate"));
    s.g.output("y", silu(gate) * up);
    s.g.output("z", gate);
  }
  CHECK(count(pass("fuse_gate_up").apply(s.g), "gated_linear") == 0);
}

TEST_CASE("fuse_silu_mul: both orders of the product") {
  for (const bool swapped : {false, true}) {
    Small s;
    const Tensor gate = silu(s.x), other = scale(s.x, 3);
    s.g.output("y", (swapped ? other * gate : gate * other).named("gated"));
    const Graph fused = pass("fuse_silu_mul").apply(s.g);
    CHECK(ops(fused) == 2);
    CHECK(fused[fused.find("gated")].op == &kSiluMul);
    check_form(s.g, fused, pass("fuse_silu_mul"));
    check_equal(s.g, fused, "y");
  }
}

TEST_CASE("fuse_silu_mul keeps a vector, and a silu with another user") {
  Small s;
  SUBCASE("a vector") {
    s.g.output("y", s.x * silu(s.vec("w")));
  }
  SUBCASE("a second user") {
    const Tensor gate = silu(s.x);
    s.g.output("y", s.x * gate);
    s.g.output("z", scale(gate, 2));
  }
  CHECK(count(pass("fuse_silu_mul").apply(s.g), "silu") == 1);
}

// causal_conv of 3 tokens of a new sequence, whose state becomes row 1.
struct SmallConv : Small {
  Tensor state = g.state("state", {f32, {2, 8, 2}});
  Tensor y = causal_conv(x, g.weight("taps", {f32, {8, 3}}), vec("bias"),
                         {state, ids("from"), ids("before"), ids("to")})
                 .named("conv");
  Tensor ids(const char* name) { return g.input(name, {i32, {3}}); }
};

TEST_CASE("fuse_conv_silu: one node updates the state and activates") {
  SmallConv s;
  s.g.output("y", silu(s.y).named("activated"));
  const Graph fused = pass("fuse_conv_silu").apply(s.g);
  CHECK(ops(fused) == 1);
  CHECK(fused[fused.find("activated")].attrs.as<CausalConvAttrs>().silu);
  check_form(s.g, fused, pass("fuse_conv_silu"));
  Evaluator plain(s.g), one(fused);
  for (Evaluator* eval : {&plain, &one}) {
    fill(*eval, s.g);
    eval->ints("from", {-1, -1, -1}).ints("before", {-1, 0, 1}).ints("to", {-1, -1, 1}).run();
  }
  const auto want = plain.floats("y"), got = one.floats("y"), bounds = one.bounds("y");
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got[i] - want[i]) <= bounds[i]);
  CHECK(one.floats("state") == plain.floats("state"));
}

TEST_CASE("fuse_conv_silu keeps a convolution with another user") {
  SmallConv s;
  s.g.output("y", silu(s.y));
  SUBCASE("a second user") {
    s.g.output("z", scale(s.y, 2));
  }
  SUBCASE("an output") {
    s.g.output("z", s.y);
  }
  CHECK(count(pass("fuse_conv_silu").apply(s.g), "silu") == 1);
}

TEST_CASE("fuse_residual: both orders of the sum, with and without bias") {
  for (const bool swapped : {false, true}) {
    for (const bool biased : {false, true}) {
      Small s;
      const Tensor y = linear(s.x, s.w("w"), biased ? s.vec("b") : Tensor{});
      s.g.output("y", (swapped ? y + s.x : s.x + y).named("sum"));
      const Graph fused = pass("fuse_residual").apply(s.g);
      CHECK(ops(fused) == 1);
      CHECK(fused[fused.find("sum")].op == &kLinear);
      check_form(s.g, fused, pass("fuse_residual"));
      check_equal(s.g, fused, "y");
    }
  }
}

TEST_CASE("fuse_residual ignores what is not a residual") {
  Small s;
  const Tensor y = linear(s.x, s.w("w"));
  SUBCASE("a vector") {
    s.g.output("y", y + s.vec("b"));
  }
  SUBCASE("a second user") {
    s.g.output("y", s.x + y);
    s.g.output("z", silu(y));
  }
  SUBCASE("twice the same") {
    s.g.output("y", y + y);
  }
  const Graph fused = pass("fuse_residual").apply(s.g);
  CHECK(count(fused, "add") == 1);
}

TEST_CASE("fuse_qkv: queries, keys and values become one projection and slices") {
  for (const bool biased : {false, true}) {
    const Graph plain = toy_llama({.T = 4, .L = 2, .bias = biased});
    const Graph fused = pass("fuse_qkv").apply(plain);
    CHECK(count(fused, "linear_concat") == 2);
    CHECK(count(fused, "linear") == count(plain, "linear") - 6);
    CHECK(fused[fused.find("blk.1.attn_qkv")].op == &kLinearConcat);
    CHECK(fused[fused.find("blk.1.attn_k")].op == &kSlice);
    CHECK(fused[fused.find("blk.1.attn_k")].spec == plain[plain.find("blk.1.attn_k")].spec);
    check_form(plain, fused, pass("fuse_qkv"));
  }
}

// x -> q, k, v -> caches -> attention, the values with a bias or not.
Graph plain_attention(bool bias_on_v) {
  Graph g;
  const Tensor x = g.input("x", {f32, {3, 8}});
  const auto project = [&](const char* name, bool biased) {
    const Tensor b = biased ? g.weight(std::string(name) + ".bias", {f32, {8}}) : Tensor{};
    return linear(x, g.weight(std::string(name) + ".weight", {f32, {8, 8}}), b);
  };
  const Tensor q = project("q", false), k = project("k", false), v = project("v", bias_on_v);
  g.output("q", merge_heads(split_heads(q, 2)));
  const Tensor cells = g.input("cells", {i32, {3}});
  const auto cached = [&](const char* name, Tensor part) {
    return cache_write(g.state(name, {f32, cache_shape(3, 2, 4)}), split_heads(part, 2), cells);
  };
  const Tensor keys = cached("keys", k), values = cached("values", v);
  g.output("y", attention(split_heads(q, 2), keys, values, runs_inputs(g, 3, 3), {}));
  return g;
}

TEST_CASE("fuse_qkv: same numbers, exactly") {
  const Graph plain = plain_attention(false), fused = pass("fuse_qkv").apply(plain);
  CHECK(fused.find("qkv") != kNoNode);
  Evaluator a(plain), b(fused);
  for (Evaluator* eval : {&a, &b}) {
    fill(*eval, eval == &a ? plain : fused);
    eval->ints("cells", {0, 1, 2});
    set_runs(*eval, {0, 0, 1}, {0, 1, 2}).run();
  }
  CHECK(a.floats("y") == b.floats("y"));
  CHECK(a.floats("q") == b.floats("q"));
}

TEST_CASE("fuse_qkv groups by bias, and leaves gate and up to their own pass") {
  const Graph fused = pass("fuse_qkv").apply(plain_attention(true));
  CHECK(count(fused, "linear_concat") == 1);
  CHECK(fused.find("qk") != kNoNode);
  CHECK(fused[fused.find("v")].op == &kLinear);

  Small s;
  s.g.output("y", silu(linear(s.x, s.w("gate"))) * linear(s.x, s.w("up")));
  CHECK(count(pass("fuse_qkv").apply(s.g), "linear_concat") == 0);
}

TEST_CASE("optimize applies all passes, or all but some") {
  const Graph plain = toy_llama({.L = 3});
  const Graph all = optimize(plain, reference_backend());
  CHECK(count(all, "rms_norm_mul") == 7);
  CHECK(count(all, "linear_concat") == 3);
  CHECK(count(all, "gated_linear") == 3);
  CHECK(count(all, "linear") == 3 * 2 + 1);
  CHECK(count(all, "add") + count(all, "mul") + count(all, "silu") == 0);

  const Graph some = optimize(plain, reference_backend(), {.off = {"fuse_qkv", "fuse_residual"}});
  CHECK(count(some, "linear_concat") == 0);
  CHECK(count(some, "add") == 6);
  CHECK(optimize(plain, reference_backend(), {.off = {"all"}}).size() == plain.size());
  CHECK_THROWS_WITH_AS(optimize(plain, reference_backend(), {.off = {"fuse_qvk"}}),
                       "unknown pass 'fuse_qvk' (known: all, fuse_norm_scale, fuse_qkv, "
                       "fuse_gate_up, fuse_silu_mul, fuse_conv_silu, fuse_residual, "
                       "turn_cache)",
                       ValueError);

  std::vector<std::string> seen;
  optimize(plain, reference_backend(), {.off = {"fuse_qkv"}},
           [&](const Pass* p, const Graph&) { seen.emplace_back(p ? p->name : "builder"); });
  CHECK(seen == std::vector<std::string>{"builder", "fuse_norm_scale", "fuse_gate_up",
                                         "fuse_silu_mul", "fuse_conv_silu", "fuse_residual",
                                         "turn_cache"});
}

}  // namespace
}  // namespace weft
