#include "weft/measure/imatrix_collector.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/ops/formats/format.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/projections/expert_linear.h"
#include "weft/ops/projections/head_linear.h"
#include "weft/ops/projections/linear.h"
#include "weft/run/draft_reading.h"

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

TEST_CASE("a draft layer is collected from the text itself") {
  for (const std::string arch : {"glm4moe", "deepseek2", "qwen35"}) {
    CAPTURE(arch);
    const auto model = tiny_model({.arch = arch, .sizes = {.draft_layers = 1}});
    const std::string layer = fmt::format("blk.{}.", model->facts().n_layers);
    std::map<std::string, Imatrix::Entry> expected;
    for (const int workers : {1, 2}) {
      for (const std::int64_t width : {std::int64_t{96}, std::int64_t{40}}) {
        Session session(model, {.prefill_width = width, .workers = workers, .draft_layer = true});
        ImatrixCollector collector(session);
        observe_drafts(session, &collector);
        for (int window = 0; window < 2; ++window) {
          session.truncate(0, 0);
          for (std::int64_t at = 0; at < kTokens; at += width) {
            std::vector<StepToken> step;
            for (std::int64_t i = at; i < std::min(at + width, kTokens); ++i)
              step.push_back({.token = static_cast<std::int32_t>(i * 7 % 50)});
            session.step(step, nullptr, &collector);
          }
          read_for_drafts(session, 0);
          read_for_drafts(session, 0);  // nothing is left
          collector.keep();
        }
        const Imatrix found = collector.collected();
        std::size_t n_draft = 0;
        for (const auto& [name, entry] : found.entries) {
          CAPTURE(name);
          const bool is_draft = name.starts_with(layer);
          n_draft += is_draft;
          if (entry.counts.size() == 1 && name.find("shared_head_head") == name.npos)
            CHECK(entry.counts[0] == 2 * (kTokens - is_draft));
        }
        CHECK(n_draft >= 7);
        CHECK(found.entries.contains(layer + "nextn.eh_proj.weight"));
        CHECK(!found.entries.contains("output.weight"));
        if (expected.empty()) expected = {found.entries.begin(), found.entries.end()};
        REQUIRE(found.entries.size() == expected.size());
        for (const auto& [name, entry] : found.entries) {
          CAPTURE(name);
          CHECK(entry.sums == expected[name].sums);
          CHECK(entry.counts == expected[name].counts);
        }
      }
    }
  }
}

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
        // Integer products round activations to 1/254 of their block's largest; the effect on the
        // next activations stays of that order.
        const double tolerance = dtype == f32 ? 1e-5 : 0.05;
        const double mean = std::accumulate(want.begin(), want.end(), 0.0) / want.size();
        for (std::size_t c = 0; c < want.size(); ++c)
          CHECK(std::abs(entry.sums[c] - want[c]) <= tolerance * (want[c] + mean));
      }
    }
  }
}

// The same sums for stacked matrices, from the rows that the products read. Passes every call on.
class StackedSums final : public NodeObserver {
 public:
  struct Sums {
    std::vector<double> squares;  // [matrices, cols]
    std::vector<std::int64_t> counts;
  };
  StackedSums(const Graph& graph, NodeObserver& next) : graph_(graph), next_(next) {}
  void before(const PlanStep& step, int lane, const KernelArgs& args,
              const Region& region) noexcept override {
    next_.before(step, lane, args, region);
    const bool by_expert = args.op == &kExpertLinear;
    if (!by_expert && args.op != &kHeadLinear) return;
    const View &x = args.in[0], &w = args.in[1];
    const auto n_cols = static_cast<std::size_t>(w.dim(2));
    Sums& sums = of[graph_[graph_[step.node].inputs[1]].path];
    sums.squares.resize(static_cast<std::size_t>(w.rows()) * n_cols);
    sums.counts.resize(static_cast<std::size_t>(w.rows()));
    std::vector<float> row(static_cast<std::size_t>(x.cols()));
    for (std::int64_t r = region.row0; r < region.row1; ++r) {
      find_format(x.dtype)->decode(x.row<std::byte>(r), row.data(), x.cols());
      for (std::int64_t i = 0; i < args.out.dim(1); ++i) {
        if (region.col0 > i * args.out.dim(2) || region.col1 <= i * args.out.dim(2)) continue;
        const auto m = static_cast<std::size_t>(by_expert ? args.in[2].row<const std::int32_t>(r)[i]
                                                          : static_cast<std::int32_t>(i));
        const float* part = row.data() + (x.n_dims == 3 ? static_cast<std::size_t>(i) * n_cols : 0);
        for (std::size_t c = 0; c < n_cols; ++c)
          sums.squares[m * n_cols + c] += static_cast<double>(part[c]) * part[c];
        ++sums.counts[m];
      }
    }
  }
  void after(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {}

  std::map<std::string, Sums> of;

 private:
  const Graph& graph_;
  NodeObserver& next_;
};

TEST_CASE("stacked matrices have sums and counts of the rows that they multiplied") {
  for (const char* arch : {"qwen3moe", "deepseek2"}) {
    for (const DType dtype : {f32, q8_0}) {
      CAPTURE(arch);
      CAPTURE(std::string(dtype.name()));
      Session session(tiny_model({.arch = arch, .matrices = dtype, .sizes = {.X = 5}}),
                      {.prefill_width = kTokens, .workers = 1});
      ImatrixCollector collector(session);
      StackedSums plain(session.graph(session.n_plans() - 1), collector);
      std::vector<StepToken> step;
      for (std::int64_t i = 0; i < kTokens; ++i)
        step.push_back({.token = static_cast<std::int32_t>(i * 7 % 50)});
      session.step(step, nullptr, &plain);
      collector.keep();
      const Imatrix m = collector.collected();
      CHECK(plain.of.contains("blk.1.ffn_down_exps.weight"));
      CHECK(plain.of.contains("blk.1.attn_k_b.weight") == (arch == std::string("deepseek2")));
      for (const auto& [name, want] : plain.of) {
        CAPTURE(name);
        REQUIRE(m.entries.contains(name));
        const Imatrix::Entry& got = m.entries.at(name);
        CHECK(got.counts == want.counts);
        REQUIRE(got.sums.size() == want.squares.size());
        // Rows that the products read as integers were rounded to 1/254 of their block's largest.
        const bool rounded = dtype == q8_0 && name.find("exps") != std::string::npos;
        const double tolerance = rounded ? 0.02 : 1e-6;
        const double mean = std::accumulate(want.squares.begin(), want.squares.end(), 0.0) /
                            static_cast<double>(want.squares.size());
        for (std::size_t i = 0; i < got.sums.size(); ++i)
          CHECK(std::abs(got.sums[i] - want.squares[i]) <= tolerance * (want.squares[i] + mean));
      }
    }
  }
}

TEST_CASE("sums of experts are of the f32 activation that the router reads") {
  for (const DType dtype : {f32, q8_0}) {
    const Imatrix m = collect(
        tiny_model({.arch = "qwen3moe", .matrices = dtype, .sizes = {.X = 5}}), {.workers = 2});
    const Imatrix::Entry& router = m.entries.at("blk.0.ffn_gate_inp.weight");
    const Imatrix::Entry& experts = m.entries.at("blk.0.ffn_up_exps.weight");
    const std::size_t n_cols = router.sums.size();
    REQUIRE(experts.counts.size() > 1);
    const double per_token = static_cast<double>(std::accumulate(
                                 experts.counts.begin(), experts.counts.end(), std::int64_t{0})) /
                             static_cast<double>(router.counts[0]);
    for (std::size_t c = 0; c < n_cols; ++c) {
      double sum = 0;
      for (std::size_t e = 0; e < experts.counts.size(); ++e) sum += experts.sums[e * n_cols + c];
      CHECK(sum == doctest::Approx(per_token * router.sums[c]).epsilon(1e-5));
    }
  }
}

TEST_CASE("matrices that the file has as one have one sum") {
  arch::MadeSource source("deepseek2");
  source.learn();
  const TensorSpec spec = *source.find_tensor("blk.0.attn_k_b.weight");
  const std::int64_t n_heads = spec.shape[0].bound, n_rows = spec.shape[1].bound;
  source.add("blk.0.attn_k_b.weight", {spec.dtype, {n_heads * n_rows, spec.shape[2]}});
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("weft-flat-heads-{}.gguf", getpid());
  write_made_model(source, path.string());
  const auto model = Model::load(path.string());
  std::filesystem::remove(path);
  const Imatrix m = collect(model, {});
  const Imatrix::Entry& flat = m.entries.at("blk.0.attn_k_b.weight");
  CHECK(flat.counts == std::vector<std::int64_t>{n_heads * kTokens});
  CHECK(std::ssize(flat.sums) == spec.shape.last());
  CHECK(m.entries.at("blk.1.attn_k_b.weight").counts ==
        std::vector<std::int64_t>(static_cast<std::size_t>(n_heads), kTokens));
}

void check_same_bits(const std::shared_ptr<const Model>& model) {
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

TEST_CASE("collected sums have the same bits for any number of workers") {
  for (const char* arch : {"llama", "qwen3moe", "deepseek2"}) {
    for (const DType dtype : {f32, q8_0}) {
      CAPTURE(arch);
      CAPTURE(std::string(dtype.name()));
      check_same_bits(tiny_model({.arch = arch, .matrices = dtype, .sizes = {.X = 5}}));
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
  // Without an output matrix of its own, the model multiplies by the embedding.
  CHECK(m.entries.contains("token_embd.weight") != m.entries.contains("output.weight"));
  CHECK_FALSE(collect(model, {}).entries.contains("token_embd.weight"));
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
