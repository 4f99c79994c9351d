#include "weft/measure/imatrix_collector.h"

#include <cmath>
#include <map>
#include <numeric>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/linear.h"

#include "support/tiny_model.h"

namespace weft {
namespace {

using test::tiny_model;

constexpr std::int64_t kTokens = 96;

// Runs the tokens in steps of `width`, kept all at once.
Imatrix collect(const std::shared_ptr<const Model>& model, SessionOptions options,
                std::int64_t width = kTokens, bool with_output = false) {
  options.prefill_width = width;
  options.logits_rows = width;
  Session session(model, options);
  ImatrixCollector collector(session, {.output = with_output});
  for (std::int64_t at = 0; at < kTokens; at += width) {
    std::vector<StepToken> step;
    for (std::int64_t i = at; i < std::min(at + width, kTokens); ++i)
      step.push_back({.token = static_cast<std::int32_t>(i * 7 % 50), .logits = with_output});
    session.step(step, nullptr, &collector);
  }
  collector.keep();
  return collector.collected();
}

// The same sums in the plainest way: every projection is a node of its own, on one worker.
class PlainSums final : public NodeObserver {
 public:
  explicit PlainSums(const Graph& graph) : graph_(graph) {}
  void before(const PlanStep& step, int, const KernelArgs& args,
              const Region& region) noexcept override {
    if (args.op != &kLinear || region.col0 != 0) return;
    std::vector<double>& sums = sums_of[graph_[graph_[step.node].inputs[1]].path];
    sums.resize(static_cast<std::size_t>(args.in[0].cols()));
    for (std::int64_t r = region.row0; r < region.row1; ++r) {
      const float* x = args.in[0].row<const float>(r);
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += static_cast<double>(x[c]) * x[c];
    }
  }
  void after(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {}

  std::map<std::string, std::vector<double>> sums_of;

 private:
  const Graph& graph_;
};

TEST_CASE("the collector sums what the plain graph sees") {
  for (const char* arch : {"llama", "qwen2", "qwen3"}) {
    for (const DType dtype : {f32, q8_0}) {
      CAPTURE(arch);
      CAPTURE(std::string(dtype.name()));
      const auto model = tiny_model(
          {.arch = arch, .matrices = dtype, .optional_tensors = arch == std::string("qwen2")});
      Session session(model, {.prefill_width = kTokens,
                              .workers = 1,
                              .backend = "reference",
                              .cache_k = f32,
                              .cache_v = f32,
                              .passes_off = {"all"}});
      PlainSums plain(session.graph(session.n_plans() - 1));
      std::vector<StepToken> step;
      for (std::int64_t i = 0; i < kTokens; ++i)
        step.push_back({.token = static_cast<std::int32_t>(i * 7 % 50)});
      session.step(step, nullptr, &plain);

      const Imatrix m = collect(model, {.workers = 2, .cache_k = f32, .cache_v = f32});
      // Two blocks of seven projections.
      CHECK(m.entries.size() == 14);
      for (const auto& [name, entry] : m.entries) {
        CAPTURE(name);
        REQUIRE(plain.sums_of.contains(name));
        const std::vector<double>& want = plain.sums_of.at(name);
        REQUIRE(entry.sums.size() == want.size());
        CHECK(entry.counts == std::vector<std::int64_t>{kTokens});
        // Integer products round activations to 1/254 of their block's largest; what that does to
        // the next activations stays of that order.
        const double tolerance = dtype == f32 ? 1e-5 : 0.05;
        const double mean = std::accumulate(want.begin(), want.end(), 0.0) / want.size();
        for (std::size_t c = 0; c < want.size(); ++c)
          CHECK(std::abs(entry.sums[c] - want[c]) <= tolerance * (want[c] + mean));
      }
    }
  }
}

TEST_CASE("collected sums have the same bits for any number of workers") {
  for (const DType dtype : {f32, q8_0}) {
    const auto model = tiny_model({.matrices = dtype});
    for (const std::int64_t width : {96, 40, 2, 1}) {
      const Imatrix one = collect(model, {.workers = 1}, width);
      for (const int workers : {2, 3}) {
        for (int run = 0; run < 5; ++run) {
          const Imatrix more = collect(model, {.workers = workers}, width);
          REQUIRE(more.entries.size() == one.entries.size());
          for (const auto& [name, entry] : one.entries) {
            CHECK(more.entries.at(name).sums == entry.sums);
            CHECK(more.entries.at(name).counts == entry.counts);
          }
        }
      }
    }
  }
}

TEST_CASE("the output projection is collected on request") {
  const auto model = tiny_model({});
  const Imatrix m = collect(model, {}, kTokens, true);
  CHECK(m.entries.contains("output.weight") ==
        (model->file().find_tensor("output.weight") != nullptr));
  if (m.entries.contains("output.weight"))
    CHECK(m.entries.at("output.weight").counts == std::vector<std::int64_t>{kTokens});
  CHECK_FALSE(collect(model, {}).entries.contains("output.weight"));
  CHECK_FALSE(m.entries.contains("token_embd.weight"));
}

TEST_CASE("dropped steps do not count, kept ones add up") {
  const auto model = tiny_model({});
  Session session(model, {.prefill_width = 8});
  ImatrixCollector collector(session);
  const std::vector<StepToken> step(8, StepToken{.token = 3});
  session.step(step, nullptr, &collector);
  collector.drop();
  collector.keep();
  CHECK(collector.collected().entries.empty());
  session.truncate(0, 0);
  session.step(step, nullptr, &collector);
  collector.keep();
  const Imatrix once = collector.collected();
  session.truncate(0, 0);
  session.step(step, nullptr, &collector);
  collector.keep();
  const Imatrix twice = collector.collected();
  for (const auto& [name, entry] : once.entries) {
    const Imatrix::Entry& both = twice.entries.at(name);
    CHECK(both.counts == std::vector<std::int64_t>{16});
    for (std::size_t c = 0; c < entry.sums.size(); ++c) CHECK(both.sums[c] == 2 * entry.sums[c]);
  }
}

TEST_CASE("activations that are not finite are rejected by the weight's name") {
  const auto model = tiny_model({.change = [](const std::string& name, std::vector<float>& values) {
    if (name == "blk.1.ffn_up.weight") values[5] = INFINITY;
  }});
  Session session(model, {.prefill_width = 8});
  ImatrixCollector collector(session);
  session.step(std::vector<StepToken>(8), nullptr, &collector);
  CHECK_THROWS_AS(collector.keep(), Error);
  CHECK(collector.collected().entries.empty());
}

}  // namespace
}  // namespace weft
