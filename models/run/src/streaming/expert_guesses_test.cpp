// Guesses of the experts that the next layer will choose.

#include "streaming/expert_guesses.h"

#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/run/session.h"

#include "support/temp_folder.h"
#include "support/tiny_model.h"

using namespace weft;
using namespace weft::run;

namespace {

const test::TinyModel kMixture{.arch = "qwen3moe", .sizes = {.L = 6, .X = 16}};

PlannedModel planned_in_half(const Model& model) {
  SessionOptions options{.context = 128, .prefill_width = 32, .workers = 2};
  options.weights = WeightMode::streamed;
  const PlannedModel all = plan_model(model, options);
  options.mem_budget = all.memory.total() - all.residency.cache_bytes() / 2;
  return plan_model(model, options);
}

}  // namespace

TEST_CASE("experts: routers are found in every layer, with the norm of their input") {
  const test::TempFolder folder;
  const std::string path = (folder / "model.gguf").string();
  test::write_tiny_model(kMixture, path);
  const auto model = Model::load(path);
  const PlannedModel planned = planned_in_half(*model);
  REQUIRE(planned.residency.groups.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    const std::string layer = "blk." + std::to_string(i);
    CHECK(planned.residency.groups[i].router == layer + ".ffn_gate_inp.weight");
    CHECK(planned.residency.groups[i].router_norm == layer + ".ffn_norm.weight");
  }
  const Graph& graph = planned.graphs.front();
  CHECK(graph.router(graph.find("blk.2.ffn_norm")) == nullptr);
}

TEST_CASE("experts: routers of other families are found, or nothing is guessed") {
  std::size_t n_found = 0;
  for (const char* arch : {"deepseek2", "gpt-oss", "granitemoe", "olmoe", "gemma4", "glm4moe"}) {
    CAPTURE(arch);
    const test::TempFolder folder;
    const std::string path = (folder / "model.gguf").string();
    test::write_tiny_model({.arch = arch, .sizes = {.L = 4, .X = 16}}, path);
    const auto model = Model::load(path);
    SessionOptions options{.context = 128, .prefill_width = 32, .workers = 2};
    options.weights = WeightMode::streamed;
    for (const ExpertGroup& group : plan_model(*model, options).residency.groups) {
      CHECK(group.router.empty() == group.router_norm.empty());
      CHECK((group.router.empty() || group.router.ends_with(".ffn_gate_inp.weight")));
      n_found += !group.router.empty();
    }
  }
  CHECK(n_found > 10);
}

TEST_CASE("experts: a router's choice is guessed from the input of the layer before") {
  const test::TempFolder folder;
  const std::string path = (folder / "model.gguf").string();
  test::write_tiny_model(kMixture, path);
  const auto model = Model::load(path);
  const Residency residency = planned_in_half(*model).residency;
  // Expert e likes element e. The norms make element 9 of the input larger, and element 3 smaller.
  const std::int64_t width = 64;
  std::vector<float> router(static_cast<std::size_t>(16 * width)), before(64, 1), norm(64, 1);
  for (std::size_t e = 0; e < 16; ++e) router[e * 64 + e] = 1;
  before[3] = 4;
  norm[9] = 8;
  const auto view_of = [](std::vector<float>& data, std::int64_t n_rows) {
    return View{.data = reinterpret_cast<std::byte*>(data.data()),
                .dtype = f32,
                .n_dims = n_rows > 1 ? 2 : 1,
                .dims = {n_rows > 1 ? n_rows : width, width},
                .row_stride = 256};
  };
  const std::map<std::string, View, std::less<>> weights{
      {"blk.1.ffn_gate_inp.weight", view_of(router, 16)},
      {"blk.1.ffn_norm.weight", view_of(norm, 1)},
      {"blk.0.ffn_norm.weight", view_of(before, 1)}};
  ExpertGuesses guesses(model->weights(), residency, [&](std::string_view name) {
    const auto it = weights.find(name);
    return it == weights.end() ? View{} : it->second;
  });
  CHECK(!guesses.has(0));
  REQUIRE(guesses.has(1));
  CHECK(!guesses.has(2));  // its router is not in memory
  std::vector<float> x(64);
  x[3] = 3, x[5] = 2, x[9] = 0.5f, x[20] = 100;
  View view{.data = reinterpret_cast<std::byte*>(x.data()),
            .dtype = f32,
            .n_dims = 2,
            .dims = {1, width},
            .row_stride = 256};
  std::vector<std::int32_t> chosen;
  guesses.add(1, view, 0, chosen);
  CHECK(chosen == std::vector<std::int32_t>{9, 5});
  view.dims[1] = 32;  // the input of another node
  guesses.add(1, view, 0, chosen);
  CHECK(chosen.size() == 2);
}

TEST_CASE("experts: guesses are made when decoding, and counted") {
  const test::TempFolder folder;
  const std::string path = (folder / "model.gguf").string();
  test::write_tiny_model(kMixture, path);
  const auto model = Model::load(path);
  Session session(planned_in_half(*model), model);
  session.feed(0, std::vector<std::int32_t>(32, 1));
  CHECK(session.stream_stats().all_groups().guesses == 0);
  for (std::int32_t token = 0; token < 40; ++token) session.feed(0, std::vector{token});
  const StreamStats stats = session.stream_stats();
  const StreamStats::Group all = stats.all_groups();
  CHECK(stats.groups.front().guesses == 0);
  CHECK(all.guesses > 0);
  CHECK(all.right_guesses > 0);
  CHECK(all.right_guesses <= all.guesses);
  CHECK(all.right_guesses <= all.hits + all.misses);
}
