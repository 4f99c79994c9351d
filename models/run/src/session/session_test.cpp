#include "weft/run/session.h"

#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q4_1.h"
#include "weft/ops/formats/q5_0.h"
#include "weft/ops/formats/q5_1.h"
#include "weft/ops/formats/q8_0.h"

#include "support/allocations.h"
#include "support/session_steps.h"
#include "support/tiny_model.h"

using namespace weft;
using test::all_logits;
using test::same_bits;
using test::some_tokens;
using test::text_of;
using test::tiny_model;

TEST_CASE("the same bits for any number of workers, any executor and any chunks") {
  const std::pair<int, ReplayKind> kRunners[] = {
      {1, ReplayKind::crew}, {2, ReplayKind::crew}, {2, ReplayKind::flow}};
  for (const char* backend : {"reference", "cpu"}) {
    for (const char* arch : {"llama", "qwen2", "qwen3"}) {
      for (const DType dtype : {f32, q8_0}) {
        const auto model = tiny_model(
            {.arch = arch, .matrices = dtype, .optional_tensors = arch == std::string("qwen2")});
        const auto ids = some_tokens(100);
        std::vector<float> expected;
        for (const auto& [workers, executor] : kRunners) {
          for (const std::size_t chunk : {100, 64, 7, 1}) {
            CAPTURE(to_string(executor));
            CAPTURE(backend);
            CAPTURE(arch);
            CAPTURE(std::string(dtype.name()));
            CAPTURE(workers);
            CAPTURE(chunk);
            Session session(model, {.prefill_width = 100,
                                    .logits_rows = 100,
                                    .workers = workers,
                                    .executor = executor,
                                    .backend = backend});
            const Plan& widest = session.plan(session.n_plans() - 1);
            if (widest.lanes > 1) CHECK(widest.replay == executor);
            const auto got = all_logits(session, ids, chunk);
            REQUIRE(got.size() == 100 * 50);
            if (expected.empty()) expected = got;
            CHECK(same_bits(got, expected));
          }
        }
      }
    }
  }
}

// The reference backend on the graphs that the cpu backend makes: queries are rounded there, too.
struct ReferenceOfLowered : Backend {
  std::string_view name() const override { return "reference"; }
  std::string description() const override { return "reference of the cpu backend's graphs"; }
  std::optional<Kernel> find(const Graph& graph, const Node& node) const override {
    return reference_backend().find(graph, node);
  }
  std::span<const Pass> lowering() const override { return cpu_backend().lowering(); }
};

TEST_CASE("quantized caches: the same bits for any workers and chunks, as the reference has it") {
  const auto model = tiny_model({.sizes = {.H = 2}});
  const auto ids = some_tokens(100);
  const auto logits = [&](SessionOptions options, std::size_t chunk) {
    options.prefill_width = options.logits_rows = 100;
    Session session(model, options);
    return all_logits(session, ids, chunk);
  };
  const auto distance = [](const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
    return std::sqrt(sum);
  };
  const auto plain = logits({.backend = "reference", .cache_k = f32, .cache_v = f32}, 100);
  for (const auto& [k, v] : {std::pair{q8_0, q8_0},
                             {q4_0, q4_0},
                             {q8_0, q4_0},
                             {f16, q8_0},
                             {q5_0, q5_1},
                             {q5_1, q5_0},
                             {q4_1, q4_1}}) {
    CAPTURE(k.name());
    CAPTURE(v.name());
    std::vector<float> expected;
    for (const int workers : {1, 2}) {
      for (const std::size_t chunk : {100, 64, 7, 1}) {
        const auto got = logits({.workers = workers, .cache_k = k, .cache_v = v}, chunk);
        if (expected.empty()) expected = got;
        CHECK(same_bits(got, expected));
      }
    }
    // The loss of the types themselves does not count. A kernel that reads or writes codes wrongly
    // is as far from the reference as the reference is from f32; where both are right, they differ
    // by roundings and the few codes that these flip.
    const ReferenceOfLowered lowered;
    const auto reference = logits({.backend_instance = &lowered, .cache_k = k, .cache_v = v}, 100);
    const double lost = distance(reference, plain), apart = distance(expected, reference);
    CAPTURE(lost);
    CHECK(lost > 0);
    CHECK(apart < lost / 10);
  }
}

// Heads are padded to whole blocks. A code of 8 bits is off by at most a part of 254 of the largest
// element of its block, and two layers keep keys and values. What is lost if a part of a head is
// dropped or read twice is of the order of the logits themselves.
TEST_CASE("quantized caches hold heads that are no whole blocks") {
  const auto ids = some_tokens(70);
  for (const std::int64_t e : {40, 48, 80, 100}) {
    CAPTURE(e);
    const auto model = tiny_model({.sizes = {.E = e}});
    const auto logits = [&](DType cache, bool turned, std::size_t chunk) {
      SessionOptions options{.prefill_width = 70, .cache_k = cache, .cache_v = cache};
      options.logits_rows = 70;
      if (!turned) options.passes_off = {"turn_cache"};
      Session session(model, options);
      return all_logits(session, ids, chunk);
    };
    const auto plain = logits(f32, true, 70);
    double power = 0;
    for (const float v : plain) power += double{v} * v;
    for (const bool turned : {true, false}) {
      const auto got = logits(q8_0, turned, 70);
      double lost = 0;
      for (std::size_t i = 0; i < got.size(); ++i) lost += std::pow(double{got[i]} - plain[i], 2);
      CHECK(lost > 0);
      CHECK(std::sqrt(lost / power) < 4.0 / 254);
      CHECK(same_bits(got, logits(q8_0, turned, 9)));
    }
  }
}

TEST_CASE("logits are those of the last step, if it requested them") {
  const auto model = tiny_model();
  Session session(model, {});
  CHECK(text_of([&] { session.logits(); }) == "no logits: the last step requested none");
  CHECK(session.step(std::vector<StepToken>{{.token = 3}}).empty());
  CHECK(session.length(0) == 1);
  const auto rows = session.step(std::vector<StepToken>{
      {.token = 3, .logits = true}, {.token = 4}, {.token = 5, .logits = true}, {.token = 6}});
  REQUIRE(rows.size() == 100);
  CHECK(session.logits().data() == rows.data() + 50);
  session.feed(0, {});
  CHECK(session.logits().size() == 50);
  session.step(std::vector<StepToken>{{.token = 3}});
  CHECK(text_of([&] { session.logits(); }) == "no logits: the last step requested none");
}

TEST_CASE("embeddings are rows of the model's width, the same bits for any chunks") {
  const auto model = tiny_model({.arch = "qwen3"});
  const auto ids = some_tokens(20);
  std::vector<float> expected;
  for (const std::size_t chunk : {20, 7, 1}) {
    CAPTURE(chunk);
    Session session(model, {.prefill_width = 20, .logits_rows = 20, .embeddings = true});
    const auto got = all_logits(session, ids, chunk);
    REQUIRE(std::ssize(got) == 20 * model->facts().n_embd);
    if (expected.empty()) expected = got;
    CHECK(same_bits(got, expected));
  }
  CHECK(expected.front() != expected[static_cast<std::size_t>(model->facts().n_embd)]);
}

TEST_CASE("predicted memory equals allocated memory") {
  const auto model = tiny_model({.matrices = q8_0});
  for (const SessionOptions& options :
       {SessionOptions{}, SessionOptions{.context = 100, .sequences = 7, .prefill_width = 33},
        SessionOptions{.workers = 1, .backend = "reference", .cache_k = f32, .cache_v = f32},
        SessionOptions{.prefill_width = 1, .separate_tensors = true},
        SessionOptions{.weights = WeightMode::mapped},
        SessionOptions{.weights = WeightMode::resident}}) {
    const MemoryUse predicted = plan_model(*model, options).memory;
    Session session(model, options);
    CHECK(session.memory() == predicted);
    CHECK(session.allocated_bytes() == predicted.total() - predicted.weights_mapped);
    const std::int64_t weights = predicted.weights_mapped + predicted.weights_resident;
    CHECK(weights >= model->facts().weight_bytes);  // aligned if they are resident
    CHECK(weights <= model->facts().weight_bytes + 64 * std::ssize(model->file().tensors()));
    CHECK((predicted.weights_resident > 0) == (session.options().weights == WeightMode::resident));
    // 2 layers, K and V, 2 heads of 16 elements, whole blocks of cells for every sequence
    CHECK(predicted.state == 2 * 2 * 2 * 16 * round_up_to_blocks(session.options().context) *
                                 session.options().sequences *
                                 session.options().cache_k.block_bytes());
  }
}

TEST_CASE("the bytes of quantized caches are those of their blocks") {
  const auto model = tiny_model({.sizes = {.H = 2}});
  const SessionOptions options{.context = 40, .sequences = 2, .cache_k = q8_0, .cache_v = q4_0};
  Session session(model, options);
  // 2 layers, 2 heads of one block of 32, 64 cells for each sequence
  CHECK(session.memory().state == 2 * (128 * 2 * 34 + 128 * 2 * 18));
  CHECK(session.memory() == plan_model(*model, options).memory);
}

TEST_CASE("a budget narrows prefill step by step, then refuses with the numbers") {
  const auto model = tiny_model();
  const SessionOptions wide{.context = 600, .prefill_width = 512, .weights = WeightMode::mapped};
  const PlannedModel free = plan_model(*model, wide);
  CHECK(free.concessions.empty());
  CHECK(free.plans.size() == 5);

  SessionOptions tight = wide;
  tight.mem_budget = free.memory.total() - 1;
  const PlannedModel narrowed = plan_model(*model, tight);
  REQUIRE(narrowed.concessions.size() == 1);
  CHECK(narrowed.concessions[0].find("prefill width 512 -> 128: saves ") == 0);
  CHECK(narrowed.options.prefill_width == 128);
  CHECK(narrowed.memory.total() < free.memory.total());

  SessionOptions narrow = wide;
  narrow.prefill_width = 8;
  tight.mem_budget = plan_model(*model, narrow).memory.total();
  const PlannedModel least = plan_model(*model, tight);
  CHECK(least.concessions.size() == 3);
  CHECK(least.options.prefill_width == 8);
  CHECK(least.memory.total() <= tight.mem_budget);
  Session session(model, tight);
  session.feed(0, some_tokens(40));
  CHECK(session.concessions() == least.concessions);

  tight.mem_budget -= 1;
  CHECK_THROWS_AS(plan_model(*model, tight), BudgetError);
  const std::string text = text_of([&] { Session refused(model, tight); });
  CHECK(text.find("needs " + human_bytes(least.memory.total())) != std::string::npos);
  CHECK(text.find("may use " + human_bytes(tight.mem_budget)) != std::string::npos);
  CHECK(text.find(least.memory.to_text()) != std::string::npos);
}

TEST_CASE("a token costs no heap call once its plan is compiled") {
  REQUIRE(test::allocations() > 0);  // they are counted
  for (const SessionOptions& options :
       {SessionOptions{.sequences = 2, .workers = 1},
        SessionOptions{.sequences = 2, .workers = 2, .weights = WeightMode::resident},
        SessionOptions{.sequences = 2, .workers = 2, .weights = WeightMode::mapped}}) {
    Session session(tiny_model({.matrices = q8_0}), options);
    session.feed(0, some_tokens(40));
    const std::int32_t one[] = {7};
    for (int i = 0; i < 20; ++i) session.feed(0, one);
    const std::int64_t before = test::allocations();
    for (int i = 0; i < 100; ++i) session.feed(0, one);
    CHECK(test::allocations() - before == 0);
    session.copy(0, 1, 100);
    session.copy(0, 1, 160);
    session.feed(1, one);  // copies a block
    CHECK(test::allocations() - before == 0);
  }
}

TEST_CASE("misuse is rejected before anything is computed") {
  const auto model = tiny_model();
  Session session(model, {.context = 20, .sequences = 2, .prefill_width = 16, .logits_rows = 4});
  session.feed(1, some_tokens(15));
  const auto feed = [&](std::int32_t sequence, const std::vector<std::int32_t>& ids) {
    return text_of([&] { session.feed(sequence, ids); });
  };
  CHECK(feed(0, {1, 50}) == "token 50 is outside the vocabulary of 50");
  CHECK(feed(0, {-1}) == "token -1 is outside the vocabulary of 50");
  CHECK(feed(2, {1}) == "no sequence 2: the session has 2");
  CHECK(feed(-1, {1}) == "no sequence -1: the session has 2");
  CHECK(feed(1, some_tokens(6)) == "sequence 1 would have 21 tokens, its context holds 20");
  CHECK(session.length(0) == 0);
  CHECK(session.length(1) == 15);
  CHECK(feed(1, some_tokens(5)) == "no error");

  const std::vector<StepToken> wanting(5, {.token = 1, .logits = true});
  CHECK(text_of([&] { session.step(wanting); }) ==
        "a step returns at most 4 rows of logits, 5 were requested");
  CHECK(text_of([&] { session.step(std::vector<StepToken>(17)); }) ==
        "a step has 1..16 tokens, got 17");
  CHECK(text_of([&] { session.step({}); }) == "a step has 1..16 tokens, got 0");
  CHECK(text_of([&] { session.truncate(1, 21); }) ==
        "sequence 1 has 20 tokens, cannot truncate to 21");

  const auto make = [&](const SessionOptions& options) {
    return text_of([&] { Session refused(model, options); });
  };
  CHECK(make({.context = -1}) == "context must be a whole number from 0 to 2147483647, got -1");
  CHECK(make({.context = 1 << 30, .sequences = 2}) ==
        "2 sequences of 1073741824 positions are more than 2147483647 cells");
  CHECK(make({.sequences = 0}) == "sequences must be a whole number from 1 to 65536, got 0");
  CHECK(make({.prefill_width = 0}) == "prefill_width must be a whole number from 1 to 8192, got 0");
  CHECK(make({.workers = 257}) == "workers must be a whole number from 0 to 256, got 257");
  CHECK(make({.backend = "gpu"}) == "unknown backend 'gpu' (known: cpu, reference)");
  CHECK(make({.cache_k = i32}) ==
        "the cache type of K must be one of F32, F16, Q8_0, Q5_1, Q5_0, Q4_1, Q4_0, got I32");
}

TEST_CASE("a cancelled feed ends after the last complete chunk and can continue") {
  const auto model = tiny_model();
  const auto ids = some_tokens(50);
  Session session(model, {.prefill_width = 16});
  std::atomic<bool> cancel{false};
  const auto stop = [&](std::int64_t done, std::int64_t total) {
    CHECK(total == 50);
    if (done == 32) cancel = true;
  };
  CHECK_THROWS_AS(session.feed(0, ids, &cancel, stop), CancelledError);
  CHECK(session.length(0) == 32);
  session.feed(0, std::span(ids).subspan(32));
  Session fresh(model, {});
  fresh.feed(0, ids);
  const std::vector<float> a(session.logits().begin(), session.logits().end());
  const std::vector<float> b(fresh.logits().begin(), fresh.logits().end());
  CHECK(same_bits(a, b));
}

TEST_CASE("damaged weights are found: small ones at load, large ones at the first logits") {
  const auto damage = [](const std::string& tensor) {
    return [tensor](const std::string& name, std::vector<float>& values) {
      if (name == tensor) values[5] = std::numeric_limits<float>::quiet_NaN();
    };
  };
  const std::string at_load =
      text_of([&] { tiny_model({.change = damage("blk.1.ffn_norm.weight")}); });
  CHECK(at_load.find(": tensor 'blk.1.ffn_norm.weight' holds nan at element 5: the file is "
                     "damaged") != std::string::npos);

  Session session(tiny_model({.change = damage("blk.1.ffn_down.weight")}), {});
  const std::string at_run = text_of([&] { session.feed(0, some_tokens(5)); });
  CHECK(at_run.find(": logits are NaN at position 4: weights or file damaged; run weft verify") !=
        std::string::npos);
}
