// Nodes that update a state while they compute their output: plans, lanes and verification.

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/elementwise/sigmoid.h"
#include "weft/ops/recurrent/causal_conv.h"
#include "weft/ops/recurrent/delta_rule.h"
#include "weft/ops/recurrent/gated_linear_attention.h"
#include "weft/ops/recurrent/selective_scan.h"
#include "weft/ops/rows/views.h"
#include "weft/scheduler/verify.h"

#include "support/eval.h"
#include "support/region_backend.h"
#include "support/session.h"

namespace weft {
namespace {

using namespace weft::test;

constexpr std::int64_t kTokens = 5, kHeads = 4, kWidth = 8, kRow = kHeads * kWidth;

// Every op with a state, one after another.
Graph recurrent_graph() {
  Graph g;
  const Tensor x = g.input("x", {f32, {kTokens, kRow}});
  const Tensor from = g.input("from", {i32, {kTokens}}), to = g.input("to", {i32, {kTokens}}),
               before = g.input("before", {i32, {kTokens}});
  const auto rows = [&](const char* name, const Shape& shape) {
    return StateRows{g.state(name, {f32, shape}), from, before, to};
  };
  const Tensor conv =
      causal_conv(x, g.weight("taps", {f32, {kRow, 3}}), {}, rows("conv", {4, kRow, 2}))
          .named("conv.y");
  const Tensor q = split_heads(conv, kHeads), k = scale(q, 0.25f);
  const Tensor groups = split_heads(slice(conv, 0, kRow / 2), kHeads / 2);
  const Tensor decay = sigmoid(slice(conv, 0, kHeads));
  const Tensor gla =
      gated_linear_attention(groups, groups, q, decay, {}, rows("gla", {4, kHeads, kWidth, kWidth}))
          .named("gla.y");
  const Tensor delta =
      delta_rule({.q = q, .k = k, .v = gla, .decay = decay, .remove = k, .write = scale(k, -1)},
                 rows("delta", {4, kHeads, kWidth, kWidth}))
          .named("delta.y");
  const Tensor flat = merge_heads(delta);
  g.output("y", selective_scan(flat, sigmoid(flat), g.weight("a", {f32, {kRow, 6}}),
                               slice(conv, 0, 6), slice(conv, 6, 12), rows("scan", {4, kRow, 6}))
                    .named("y"));
  check(g);
  return g;
}

constexpr const char* kStates[] = {"conv", "gla", "delta", "scan"};

// Two sequences: tokens 0, 2 and 3 from zero on, tokens 1 and 4 from row 1 on.
const std::vector<std::int32_t> kFrom{-1, 1, -1, -1, -1}, kBefore{-1, -1, 0, 2, 1},
    kTo{-1, -1, 2, 3, 0};

void set_inputs(TestSession& session) {
  const std::vector<float> x = noise(kTokens * kRow, 7);
  std::memcpy(session.executor.input("x").data(), x.data(), x.size() * sizeof(float));
  session.set("from", kFrom);
  session.set("before", kBefore);
  session.set("to", kTo);
}

TEST_CASE("states that nodes update: lanes compute what the definitions do") {
  const Graph g = recurrent_graph();
  Memory memory;
  Evaluator eval(g);
  eval.floats("x", noise(kTokens * kRow, 7));
  eval.ints("from", kFrom).ints("before", kBefore).ints("to", kTo);
  for (const char* weight : {"taps", "a"}) {
    const Node& node = g[g.find(weight)];
    const auto* values = reinterpret_cast<const float*>(memory.weight(node));
    eval.floats(weight, std::span(values, static_cast<std::size_t>(node.spec.shape.elems())));
  }
  eval.run().run();
  const RegionBackend backend;
  for (const int lanes : {1, 2, 3}) {
    CAPTURE(lanes);
    memory.clear_states(g);
    Workers workers(lanes);
    TestSession session(g, backend, {.lanes = lanes}, memory, workers);
    check(session.plan, g);
    for (int run = 0; run < 2; ++run) {
      set_inputs(session);
      session.executor.run({});
    }
    CHECK(session.floats("y") == eval.floats("y"));
    for (const char* state : kStates) {
      CAPTURE(state);
      const std::vector<float> expected = eval.floats(state);
      CHECK(std::memcmp(memory.state(g[g.find(state)]), expected.data(),
                        expected.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("states that nodes update: a split in which two lanes write the same part is refused") {
  const Graph g = recurrent_graph();
  Plan plan = make_plan(g, RegionBackend(), {.lanes = 2});
  const auto step = std::ranges::find(plan.steps, "gla.y", &PlanStep::path);
  REQUIRE(step != plan.steps.end());
  SUBCASE("copies") {
    step->split = Split::copies;
    CHECK_THROWS_WITH_AS(check(plan, g), "'gla.y' writes a state and cannot be copied", ValueError);
  }
  SUBCASE("rows") {
    step->split = Split::rows;
    CHECK_THROWS_WITH_AS(check(plan, g), "'gla.y' cannot be split by rows", ValueError);
  }
}

// The definition, but the state that a node updates is off by one in row 2, or in one never
// written.
int spoilt_row = 2;
void spoil_state(const KernelArgs& args, const Region&) noexcept {
  args.op->reference(*args.attrs, args.in, args.out);
  args.in[static_cast<std::size_t>(args.op->updates)].row<float>(spoilt_row)[3] += 1;
}

class SpoilingBackend : public Backend {
 public:
  explicit SpoilingBackend(std::string_view path) : path_(path) {}
  std::string_view name() const override { return "spoiling"; }
  std::string description() const override { return "the reference with one wrong state"; }
  std::optional<Kernel> find(const Graph& graph, const Node& node) const override {
    if (node.path == path_) return Kernel{.row = "spoilt", .run = spoil_state, .splits = false};
    return reference_backend().find(graph, node);
  }

 private:
  std::string_view path_;
};

TEST_CASE("states that nodes update: verify compares what was written, and what was not") {
  const Graph g = recurrent_graph();
  for (const int row : {2, 1}) {
    for (const char* state : kStates) {
      CAPTURE(state);
      spoilt_row = row;
      const std::string path = state == std::string("scan") ? "y" : state + std::string(".y");
      const SpoilingBackend backend(path);
      Memory memory;
      Workers workers(1);
      TestSession session(g, backend, {.lanes = 1}, memory, workers);
      set_inputs(session);
      Verifier verifier(g, session.plan);
      session.executor.run({}, {.observer = &verifier});
      const VerifyReport report = verifier.report();
      REQUIRE(report.first_bad());
      CHECK(report.first_bad()->path == state);
      CHECK(report.first_bad()->worst_error == doctest::Approx(1));
      for (const NodeCheck& node : report.nodes) CHECK(node.passed() == (node.path != state));
    }
  }
}

}  // namespace
}  // namespace weft
