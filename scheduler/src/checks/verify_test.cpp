#include "weft/scheduler/verify.h"

#include <limits>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/scheduler/passes.h"

#include "support/session.h"
#include "support/toy_llama.h"

namespace weft {
namespace {

using namespace weft::test;

// The reference kernel, but with a wrong last element (off by more than any bound, or NaN), and
// optionally with a number in place of the first element.
float spoil = 0;
bool number_instead = false;
void wrong(const KernelArgs& args, const Region&) noexcept {
  args.op->reference(*args.attrs, args.in, args.out);
  args.out.row<float>(args.out.rows() - 1)[args.out.cols() - 1] += spoil;
  if (number_instead) args.out.row<float>(0)[0] = 7;
}

class WrongBackend : public Backend {
 public:
  explicit WrongBackend(std::string_view path) : path_(path) {}
  std::string_view name() const override { return "wrong"; }
  std::string description() const override { return "the reference with one mistake"; }
  std::optional<Kernel> find(const Graph& graph, const Node& node) const override {
    if (node.path == path_) return Kernel{.row = "spoilt", .run = wrong, .splits = false};
    return reference_backend().find(graph, node);
  }

 private:
  std::string_view path_;
};

VerifyReport verify(const Graph& graph, const Backend& backend, int steps) {
  Memory memory;
  Workers workers(1);
  TestSession session(graph, backend, {.name = "verify", .lanes = 1}, memory, workers);
  Verifier verifier(graph, session.plan);
  for (int i = 0; i < steps; ++i) step(session, {i + 1}, i, nullptr, &verifier);
  return verifier.report();
}

TEST_CASE("the reference agrees with itself, in place and over states") {
  const Graph graph = optimize(toy_llama({}), reference_backend());
  const VerifyReport report = verify(graph, reference_backend(), 2);
  INFO(report.to_text());
  CHECK(report.first_bad() == nullptr);
  CHECK(report.nodes.size() ==
        2 * make_plan(graph, reference_backend(), {.lanes = 1}).steps.size());
  for (const NodeCheck& node : report.nodes) CHECK(node.worst_error == 0);
  CHECK(report.to_json().find("\"passed\":true") != std::string::npos);
}

TEST_CASE("a wrong kernel is caught and named with the builder's line") {
  const Graph graph = toy_llama({});
  const std::string path = "blk.1.ffn_gate";
  const WrongBackend backend(path);
  spoil = 1;
  const VerifyReport report = verify(graph, backend, 1);
  REQUIRE(report.first_bad());
  const NodeCheck& bad = *report.first_bad();
  CHECK(bad.path == path);
  CHECK(bad.kernel == "spoilt");
  CHECK(bad.op == "linear");
  CHECK(bad.where.find("toy_llama.h:") != std::string::npos);
  CHECK(bad.worst_index == graph[bad.node].spec.shape.cols() - 1);
  CHECK(bad.worst_error == doctest::Approx(1));
  CHECK(report.to_text().find("'blk.1.ffn_gate', kernel 'spoilt'") != std::string::npos);
  CHECK(report.to_json().find("\"first_bad\":\"blk.1.ffn_gate\"") != std::string::npos);
  // Every node is checked from the inputs that it really had: the mistake does not spread.
  for (const NodeCheck& node : report.nodes) CHECK(node.passed() == (node.path != path));
}

TEST_CASE("NaN fails if the definition gives a number") {
  const WrongBackend backend("blk.0.attn_output");
  spoil = std::numeric_limits<float>::quiet_NaN();
  const VerifyReport report = verify(toy_llama({}), backend, 1);
  REQUIRE(report.first_bad());
  CHECK(report.first_bad()->path == "blk.0.attn_output");
  CHECK(report.first_bad()->non_finite == 1);
}

TEST_CASE("ops without a bound get four ulp of the result") {
  Graph g;
  const Tensor x = g.input("x", {f32, {1, 4}});
  g.output("y", (x + x).named("y"));
  REQUIRE((g[g.find("y")].op->bound == nullptr));
  const WrongBackend backend("y");
  Memory memory;
  Workers workers(1);
  for (const int ulps : {4, 5}) {
    spoil = static_cast<float>(ulps) * 0x1p-22f;  // x + x is 2, where floats are 2^-22 apart
    TestSession session(g, backend, {.lanes = 1}, memory, workers);
    const float ones[] = {1, 1, 1, 1};
    std::memcpy(session.executor.input("x").data(), ones, sizeof(ones));
    Verifier verifier(g, session.plan);
    session.executor.run({}, {.observer = &verifier});
    CHECK(verifier.report().nodes.at(0).worst_ratio == doctest::Approx(ulps / 4.0));
    CHECK((verifier.report().first_bad() == nullptr) == (ulps == 4));
  }
}

TEST_CASE("an infinite bound is never accepted") {
  Graph g;
  const Tensor x = g.input("x", {f32, {1, 4}});
  g.output("y", silu(x).named("y"));
  REQUIRE((g[g.find("y")].op->bound != nullptr));
  const WrongBackend backend("y");
  Memory memory;
  Workers workers(1);
  for (const bool right : {true, false}) {
    spoil = 0;
    number_instead = !right;
    TestSession session(g, backend, {.lanes = 1}, memory, workers);
    const float values[] = {std::numeric_limits<float>::infinity(), 1, 1, 1};
    std::memcpy(session.executor.input("x").data(), values, sizeof(values));
    Verifier verifier(g, session.plan);
    session.executor.run({}, {.observer = &verifier});
    CHECK(verifier.report().nodes.at(0).passed() == right);
  }
  number_instead = false;
}

TEST_CASE("verify requires one lane") {
  const Graph graph = toy_llama({});
  const Plan plan = make_plan(graph, reference_backend(), {.lanes = 2});
  CHECK_THROWS_AS(Verifier(graph, plan), ValueError);
}

}  // namespace
}  // namespace weft
