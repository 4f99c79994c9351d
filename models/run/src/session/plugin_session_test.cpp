// Sessions on backends from shared libraries: bytes, allocations, the state after a failure.

#include <cstdlib>

#include <doctest/doctest.h>

#include "weft/backends/plugins.h"
#include "weft/base/error.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/run/session.h"

#include "support/allocations.h"
#include "support/session_steps.h"
#include "support/tiny_model.h"

using namespace weft;
using test::some_tokens;
using test::text_of;
using test::tiny_model;

namespace {

const bool kLoaded = [] {
  load_plugins(WEFT_TEST_PLUGINS "/libskeleton.so");
  load_plugins(WEFT_TEST_PLUGINS "/libfaulty.so");
  return true;
}();

std::vector<float> logits_of(Session& session, std::size_t n) {
  session.feed(0, some_tokens(n));
  return {session.logits().begin(), session.logits().end()};
}

struct Fault {
  Fault(const char* what, const char* after) {
    setenv("WEFT_FAULT", what, 1);
    setenv("WEFT_FAULT_AFTER", after, 1);
  }
  ~Fault() { unsetenv("WEFT_FAULT"); }
};

}  // namespace

TEST_CASE("with a plug-in: same bits for any workers and chunks, predicted = allocated") {
  REQUIRE(kLoaded);
  const auto model = tiny_model();
  std::vector<float> expected;
  for (const int workers : {1, 2}) {
    for (const std::int64_t width : {64, 7, 1}) {
      Session session(model, {.prefill_width = width, .workers = workers, .backend = "skeleton"});
      const auto got = logits_of(session, 50);
      if (expected.empty()) expected = got;
      CHECK(got == expected);
      const MemoryUse& use = session.memory();
      CHECK(use.device > 0);
      CHECK(session.allocated_on_devices() == use.device);
      CHECK(session.allocated_bytes() == use.total() - use.weights_mapped);
      // The norms' weights lie on the device alone.
      CHECK(use.weights_mapped + use.weights_resident < model->facts().weight_bytes);
    }
  }
}

TEST_CASE("nodes on cpu next to a plug-in have cpu's types in every plan, and the same bits") {
  const auto model = tiny_model({.matrices = q8_0});
  const std::string weight = "blk.1.attn_output.weight";
  const auto type_of = [&](const Session& session, std::size_t plan) {
    const Graph& graph = session.graph(plan);
    REQUIRE(graph.find(weight) != kNoNode);
    return graph[graph.find(weight)].spec.dtype.name();
  };
  const Session alone(model, {.weights = WeightMode::resident});
  std::vector<float> expected;
  for (const int workers : {1, 2}) {
    for (const std::int64_t width : {64, 7, 1}) {
      Session session(model, {.prefill_width = width,
                              .workers = workers,
                              .backend = "skeleton",
                              .weights = WeightMode::resident});
      const auto got = logits_of(session, 50);
      if (expected.empty()) expected = got;
      CHECK(got == expected);
      const MemoryUse& use = session.memory();
      CHECK(session.allocated_bytes() == use.total() - use.weights_mapped);
      for (std::size_t i = 0; i < session.n_plans(); ++i) {
        const NodeId quantized = session.graph(i).find("blk.0.attn_norm.q8a");
        REQUIRE(quantized != kNoNode);
        CHECK(session.graph(i)[quantized].made_by.starts_with("quantize_activations"));
        CHECK(type_of(session, i) == type_of(alone, 0));
      }
    }
  }
}

TEST_CASE("a token with copies at the seams costs no heap call once its plan is compiled") {
  REQUIRE(test::allocations() > 0);  // they are counted
  Session session(tiny_model(), {.workers = 2, .backend = "skeleton"});
  session.feed(0, some_tokens(40));
  const std::int32_t one[] = {7};
  for (int i = 0; i < 20; ++i) session.feed(0, one);
  const std::int64_t before = test::allocations();
  for (int i = 0; i < 100; ++i) session.feed(0, one);
  CHECK(test::allocations() - before == 0);
}

TEST_CASE("routes: the first matching rule decides, the logits do not depend on who runs a node") {
  const auto model = tiny_model();
  Session plain(model, {.backend = "reference"});
  Session routed(model, {.backend = "reference",
                         .route = "blk.0.ffn_norm=skeleton,blk.0.*=reference,*norm=skeleton"});
  const Plan& plan = routed.plan(0);
  const auto backend_of = [&](std::string_view path) {
    return std::ranges::find(plan.steps, path, &PlanStep::path)->backend;
  };
  CHECK(backend_of("blk.0.ffn_norm") == "skeleton");
  CHECK(backend_of("blk.0.attn_norm") == "reference");
  CHECK(backend_of("blk.1.attn_norm") == "skeleton");
  const auto a = logits_of(plain, 9), b = logits_of(routed, 9);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-5));
  CHECK(text_of([&] { Session(model, {.route = "blk.0.atn_norm=reference"}); }) ==
        "no node matches the pattern 'blk.0.atn_norm' of the route (similar paths: "
        "blk.0.attn_norm, blk.0.ffn_norm, blk.1.attn_norm)");
  CHECK(text_of([&] { Session(model, {.route = "blk.99.everything=reference"}); }) ==
        "no node matches the pattern 'blk.99.everything' of the route");
}

TEST_CASE("a step that failed half-way has no effect on the session") {
  const auto model = tiny_model();
  Session session(model, {.prefill_width = 16, .backend = "faulty"});
  session.feed(0, some_tokens(20));
  const auto ids = some_tokens(5);
  {
    const Fault fault("run", "2");
    const std::string text = text_of([&] { session.feed(0, ids); });
    CHECK(text ==
          "backend faulty: rms_norm_mul 'blk.1.attn_norm': failed: run: too hot; the step "
          "does not count, the session can continue");
  }
  CHECK(session.length(0) == 20);
  session.feed(0, ids);
  const std::vector<float> after(session.logits().begin(), session.logits().end());
  Session fresh(model, {.prefill_width = 16, .backend = "faulty"});
  fresh.feed(0, some_tokens(20));
  fresh.feed(0, ids);
  CHECK(std::ranges::equal(fresh.logits(), after));
}

TEST_CASE("failures before the first step, and a lost device") {
  const auto model = tiny_model();
  const SessionOptions options{.backend = "faulty"};
  {
    const Fault fault("buffer", "1");
    CHECK(text_of([&] { Session(model, options); }).find("out of memory: buffer: full") !=
          std::string::npos);
  }
  Session session(model, options);
  {
    const Fault fault("prepare", "1");
    CHECK(text_of([&] { session.feed(0, some_tokens(3)); }) ==
          "backend faulty: rms_norm_mul 'blk.0.ffn_norm': failed: prepare: no compiler");
  }
  session.feed(0, some_tokens(3));
  {
    const Fault fault("lost", "0");
    CHECK(text_of([&] { session.feed(0, some_tokens(3)); }).find("the session cannot continue") !=
          std::string::npos);
  }
  CHECK(text_of([&] { session.feed(0, some_tokens(3)); }).find("backend faulty: ") == 0);
  CHECK(text_of([&] { Session(model, options); }) == "backend faulty: its device is lost");
}
