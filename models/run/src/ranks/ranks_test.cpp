#include "weft/run/ranks.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/run/memory_plan.h"
#include "weft/run/session.h"

#include "support/allocations.h"
#include "support/error_text.h"
#include "support/made_adapter.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using RankLogits = std::vector<float>;

const std::vector<std::int32_t> kRankPrompt{3, 1, 4, 1, 5, 9, 2, 6};

// The logits of the last token of a prompt in two chunks, and of two more tokens.
RankLogits rank_logits(Session& session) {
  RankLogits all;
  const auto keep = [&](std::span<const float> row) {
    all.insert(all.end(), row.begin(), row.end());
  };
  session.feed(0, kRankPrompt);
  keep(session.logits());
  for (const std::int32_t token : {7, 8}) {
    const StepToken step{.token = token, .logits = true};
    keep(session.step({&step, 1}));
  }
  return all;
}

SessionOptions rank_options() {
  return {.context = 64, .prefill_width = 5, .workers = 1};
}

RankLogits rank_logits(const test::TinyModel& about, const Sharding& sharding) {
  Session session(test::tiny_model(about, {.sharding = sharding}), rank_options());
  return rank_logits(session);
}

double rank_distance(const RankLogits& a, const RankLogits& b) {
  double error = 0, power = 0;
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += std::pow(double{a[i]} - double{b[i]}, 2);
    power += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(error / power);
}

TEST_CASE("pipeline parallel gives the bits of one rank") {
  const test::TinyModel about{.sizes = {.L = 4}};
  const RankLogits alone = rank_logits(about, {});
  for (const int pp : {2, 3, 4}) CHECK(rank_logits(about, {.pp = pp, .min_elems = 0}) == alone);
}

TEST_CASE("tensor parallel repeats, and differs by roundings") {
  for (const char* arch : {"llama", "qwen3", "gemma2", "phi3", "gpt2", "falcon", "bloom"}) {
    CAPTURE(arch);
    const test::TinyModel about{.arch = arch, .optional_tensors = true};
    const RankLogits alone = rank_logits(about, {});
    const Sharding sharding{.tp = 2, .min_elems = 0};
    const RankLogits ranks = rank_logits(about, sharding);
    CHECK(rank_distance(ranks, alone) < 1e-5);
    CHECK(rank_logits(about, sharding) == ranks);
  }
}

TEST_CASE("a mixture of experts is divided") {
  const test::TinyModel about{.arch = "qwen3moe", .sizes = {.X = 4}};
  CHECK(rank_distance(rank_logits(about, {.tp = 2, .min_elems = 0}), rank_logits(about, {})) <
        1e-5);
}

// The columns of these experts are one block of their format.
const test::TinyModel kWholeExperts{.arch = "qwen3moe", .matrices = q8_0, .sizes = {.X = 5}};

TEST_CASE("ranks have some of the experts that cannot be cut") {
  const RankLogits alone = rank_logits(kWholeExperts, {});
  const auto model = test::tiny_model(kWholeExperts, {.sharding = {.tp = 2, .min_elems = 0}});
  CHECK(model->weights().find_tensor("blk.0.ffn_down_exps.weight") == nullptr);
  CHECK(model->weights().find_tensor("blk.0.ffn_down_exps.weight[0:2]"));
  Session session(model, rank_options());
  CHECK(rank_distance(rank_logits(session), alone) < 1e-2);  // by roundings to 8 bits
}

TEST_CASE("both kinds together") {
  const test::TinyModel about{.sizes = {.L = 4}};
  const Sharding both{.tp = 2, .pp = 2, .min_elems = 0};
  const RankLogits ranks = rank_logits(about, both);
  CHECK(ranks == rank_logits(about, {.tp = 2, .min_elems = 0}));
}

TEST_CASE("ranks forget, copy and go on together") {
  const test::TinyModel about{.sizes = {.L = 2}};
  for (const Sharding& sharding : {Sharding{.tp = 2, .min_elems = 0}, Sharding{.pp = 2}}) {
    const auto model = test::tiny_model(about, {.sharding = sharding});
    SessionOptions options = rank_options();
    options.sequences = 2;
    Session session(model, options);
    const RankLogits first = rank_logits(session);
    session.copy(0, 1, 4);
    session.truncate(0, 0);
    CHECK(rank_logits(session) == first);
    session.feed(1, std::span(kRankPrompt).subspan(4));
    CHECK(std::ranges::equal(session.logits(), std::span(first).first(session.logits().size())));
  }
}

TEST_CASE("a cancelled step leaves no traces on any rank") {
  for (const Sharding& sharding : {Sharding{.tp = 2, .min_elems = 0}, Sharding{.pp = 2}}) {
    Session session(test::tiny_model({}, {.sharding = sharding}), rank_options());
    const std::atomic<bool> cancel = true;
    CHECK_THROWS_AS(session.feed(0, kRankPrompt, &cancel), CancelledError);
    CHECK(session.length(0) == 0);
    const RankLogits after = rank_logits(session);
    session.truncate(0, 0);
    CHECK(rank_logits(session) == after);
  }
}

void check_all_nodes(const test::TinyModel& about) {
  for (const Sharding& sharding : {Sharding{.tp = 2, .min_elems = 0}, Sharding{.pp = 2}}) {
    Session session(test::tiny_model(about, {.sharding = sharding}), rank_options());
    std::vector<StepToken> tokens;
    for (const std::int32_t token : {1, 2, 3}) tokens.push_back({.token = token, .logits = true});
    const std::size_t plan = session.plan_for(3);
    Verifier verifier(session.graph(plan), session.plan(plan));
    session.step(tokens, nullptr, &verifier);
    const VerifyReport own = verifier.report();
    const auto others = reports_of_ranks(session);
    REQUIRE(others.size() == 1);
    for (const VerifyReport* report : {&own, &others[0]}) {
      CHECK(report->nodes.size() > 10);
      CHECK(report->first_bad() == nullptr);
    }
  }
}

TEST_CASE("every node of every rank is verified") {
  check_all_nodes({});
  check_all_nodes(kWholeExperts);
}

// The first steps of a plan prepare it, and make room for messages on their way. There may be more
// of these later; a step that allocates would do so every time.
TEST_CASE("steps of ranks do not allocate") {
  constexpr int kSteps = 64;
  for (const Sharding& sharding : {Sharding{.tp = 2, .min_elems = 0}, Sharding{.pp = 2}}) {
    Session session(test::tiny_model({}, {.sharding = sharding}), rank_options());
    const StepToken step{.token = 7, .logits = true};
    for (int i = 0; i < 8; ++i) session.step({&step, 1});
    REQUIRE(test::allocations() > 0);  // they are counted
    const std::int64_t before = test::allocations();
    for (int i = 0; i < kSteps - 16; ++i) session.step({&step, 1});
    CHECK(test::allocations() - before < kSteps / 8);
  }
}

TEST_CASE("sessions of one model take turns") {
  const auto model = test::tiny_model({}, {.sharding = {.tp = 2, .min_elems = 0}});
  Session a(model, rank_options());
  const RankLogits want = rank_logits(a);
  Session b(model, rank_options());
  CHECK(rank_logits(b) == want);
  a.truncate(0, 0);
  CHECK(rank_logits(a) == want);
}

// An observer stops the step at its third node, on rank 0 alone; nothing comes between that and the
// end of the session.
TEST_CASE("a session that is closed in the middle of a step leaves ranks in step") {
  struct Stops final : NodeObserver {
    bool reads_values() const override { return false; }
    void before(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {
      if (++n == 3) cancel = true;
    }
    void after(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {}
    std::atomic<int> n = 0;
    std::atomic<bool> cancel = false;
  };
  for (const Sharding& sharding : {Sharding{.tp = 2, .min_elems = 0}, Sharding{.pp = 2}}) {
    const auto model = test::tiny_model({}, {.sharding = sharding});
    Session kept(model, rank_options());
    const RankLogits want = rank_logits(kept);
    kept.truncate(0, 0);
    {
      Session closed(model, rank_options());
      closed.feed(0, kRankPrompt);
      Stops stops;
      const StepToken step{.token = 7, .logits = true};
      CHECK_THROWS_AS(closed.step({&step, 1}, &stops.cancel, &stops), CancelledError);
      CHECK(closed.tokens(0).size() == kRankPrompt.size());
    }
    CHECK(rank_logits(kept) == want);
    Session opened(model, rank_options());
    CHECK(rank_logits(opened) == want);
  }
}

TEST_CASE("adapters are divided with the model") {
  const test::TempFolder folder;
  const std::string path = (folder / "model.gguf").string(), lora = (folder / "lora.gguf").string(),
                    vector = (folder / "vector.gguf").string();
  test::write_tiny_model({}, path);
  test::write_lora(
      {.weights = {{"blk.0.attn_q.weight", {64, 64}}, {"blk.1.ffn_down.weight", {64, 96}}}}, lora);
  test::write_control_vector({}, vector);
  const auto logits = [&](const Sharding& sharding) {
    ModelOptions options{.sharding = sharding};
    options.adapters.loras = {{lora, 0.5F}};
    options.adapters.control_vectors = {{vector, 2}};
    Session session(Model::load(path, options), rank_options());
    return rank_logits(session);
  };
  const RankLogits alone = logits({});
  CHECK(rank_distance(alone, rank_logits({}, Sharding())) > 1e-3);
  CHECK(rank_distance(logits({.tp = 2, .min_elems = 0}), alone) < 1e-5);
  CHECK(logits({.pp = 2}) == alone);
}

TEST_CASE("a rank without memory for its part is named when the session is opened") {
  const Sharding sharding{.tp = 2, .min_elems = 0};
  const auto model = test::tiny_model({}, {.sharding = sharding, .rank_budget = 4096});
  for (int i = 0; i < 2; ++i) {
    const std::string why = test::text_of([&] { Session(model, rank_options()); });
    CHECK(why.starts_with("rank 1: "));
  }
}

TEST_CASE("a rank with room for narrower steps than rank 0 is refused") {
  const Sharding sharding{.tp = 2, .min_elems = 0};
  SessionOptions options = rank_options();
  options.context = 4096;
  options.prefill_width = 512;
  const auto fits = test::tiny_model({}, {.sharding = sharding});
  const std::int64_t need = plan_to_look_at(*fits, options).memory.total();
  const auto model = test::tiny_model({}, {.sharding = sharding, .rank_budget = 2 * (need - 4096)});
  const std::string why = test::text_of([&] { Session(model, options); });
  CHECK(why.starts_with("rank 1 has memory for 1 sequences, "));
  CHECK(why.find("rank 0 for 1 sequences, ") != std::string::npos);
}

// Rank 0 finds that before it tells the others.
TEST_CASE("a step that cannot begin leaves ranks in step") {
  const test::TempFolder folder;
  const std::string path = (folder / "model.gguf").string();
  test::write_tiny_model({}, path);
  const auto model = Model::load(path, {.sharding = {.tp = 2, .min_elems = 0}});
  Session session(model, rank_options());
  session.feed(0, kRankPrompt);
  std::ofstream(path, std::ios::app) << "more";
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // files are looked at every second
  for (int i = 0; i < 2; ++i)
    CHECK_THROWS_AS(session.feed(0, std::span(kRankPrompt).first(2)), IoError);
  CHECK(session.length(0) == std::ssize(kRankPrompt));
}

TEST_CASE("shardings that cannot be are refused when the model is loaded") {
  CHECK_THROWS_AS(test::tiny_model({}, {.sharding = {.tp = 3}}), ValueError);
  CHECK_THROWS_AS(test::tiny_model({}, {.sharding = {.pp = 3}}), ValueError);
  CHECK_THROWS_AS(test::tiny_model({.arch = "t5"}, {.sharding = {.pp = 2}}), UnsupportedError);
}

}  // namespace
}  // namespace weft
