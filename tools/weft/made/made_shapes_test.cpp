// Every shape that --make-model knows by name can be planned. No file is written.
#include <utility>

#include <doctest/doctest.h>

#include "weft/run/session.h"
#include "weft/scheduler/passes.h"
#include "weft/scheduler/planner.h"

#include "made/made_model.h"

namespace weft::tools {
namespace {

// Parameters of the published models, as far as their layers are here, in units of 1e9.
struct Size {
  std::string_view name;
  double parameters;
};
constexpr Size kSizes[] = {
    {"gemma3-1b", 1.0},    {"gemma3-4b", 3.88},  {"qwen3-0.6b", 0.6},     {"phi3-mini", 3.82},
    {"gpt2", 0.124},       {"bert-base", 0.109}, {"nomic-embed", 0.137},  {"granite4-h-1b", 1.46},
    {"qwen35-like", 1.88}, {"falcon-h1", 0.521}, {"mamba-370m", 0.372},   {"rwkv7-0.4b", 0.451},
    {"lfm2-1.2b", 1.17},   {"mixtral", 3.16},    {"deepseek2-lite", 15.7}};

// Nodes of the planned graph of steps of that many tokens.
std::size_t n_planned_nodes(const arch::MadeSource& source, std::int64_t tokens) {
  const arch::Architecture& architecture = arch::find_architecture(source);
  const arch::Config config = configure(source, architecture);
  Graph fused = fuse(arch::build_graph(source, architecture, *config,
                                       {.tokens = tokens, .logits_rows = 1, .context = 1024}),
                     {});
  const Assignment assignment = assign({&fused, 1}, routes_of({})).front();
  const Graph lowered = lower(std::move(fused), assignment, {});
  const Plan plan = make_plan(lowered, assignment, {.name = "test"});
  check(plan, lowered);
  return lowered.size();
}

TEST_CASE("every named shape can be planned, in the usual types and in F32") {
  CHECK(named_shapes().size() == 25);
  for (const MadeShape& named : named_shapes()) {
    CAPTURE(named.name);
    const MadeShape shape = parse_shape(named.name);
    const std::size_t n_nodes = n_planned_nodes(source_of(shape, "Q4_K_M"), 64);
    CHECK(n_nodes > static_cast<std::size_t>(5 * shape.sizes.L));
    CHECK(n_planned_nodes(source_of(shape, "F32"), 1) >
          static_cast<std::size_t>(5 * shape.sizes.L));
  }
}

TEST_CASE("named shapes have the number of parameters of the models they are named after") {
  for (const auto& [name, wanted] : kSizes) {
    CAPTURE(name);
    const double n = static_cast<double>(parse_shape(name).parameters()) / 1e9;
    CHECK(n == doctest::Approx(wanted).epsilon(0.06));
  }
}

TEST_CASE("the help lists every shape with its sizes") {
  const std::string help = known_shapes();
  for (const MadeShape& shape : named_shapes())
    CHECK(help.find("  " + shape.name + " ") != std::string::npos);
  const std::size_t sizes = help.find("D=1024,L=48,V=50280,tied=1");
  REQUIRE(sizes != std::string::npos);
  CHECK(help.find("mamba-370m") < sizes);
}

TEST_CASE("a named shape takes other letters, and routers that prefer some experts") {
  const MadeShape shape = parse_shape("qwen3-30b-a3b,L=48,skew=50");
  CHECK(shape.sizes.L == 48);
  CHECK(shape.skew == 50);
  CHECK(shape.parameters() == 30532122624);
  CHECK_THROWS_AS(parse_shape("qwen3-30b-a3b,skew=101"), ValueError);
  CHECK_THROWS_AS(parse_shape("qwen3-30b-a3b,L=0"), ValueError);
  CHECK_THROWS_AS(parse_shape("1.1b,skew=50"), ValueError);  // no experts
  CHECK_THROWS_AS(parse_shape("1.1b,H=33"), ValueError);
}

}  // namespace
}  // namespace weft::tools
