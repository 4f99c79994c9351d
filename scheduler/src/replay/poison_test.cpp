// Kernels that use memory where nothing lives are found, and nothing else changes.

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/scheduler/passes.h"

#include "support/region_backend.h"
#include "support/session.h"
#include "support/toy_llama.h"

namespace weft {
namespace {

using namespace weft::test;

// The kernel of one op does something more.
class SpoiltBackend final : public RegionBackend {
 public:
  SpoiltBackend(std::string_view op, KernelFn kernel) : op_(op), kernel_(kernel) {}
  std::optional<Kernel> find(const Graph& graph, const Node& node) const override {
    auto kernel = RegionBackend::find(graph, node);
    if (kernel && node.op->name == op_) kernel->run = kernel_;
    return kernel;
  }

 private:
  std::string_view op_;
  KernelFn kernel_;
};

float& first(const KernelArgs& args, const Region& region) {
  return args.out.row<float>(region.row0)[region.col0];
}

void adds_to_what_is_there(const KernelArgs& args, const Region& region) noexcept {
  const float before = first(args, region);
  run_region(args, region);
  first(args, region) += before;
}

void adds_scratch(const KernelArgs& args, const Region& region) noexcept {
  float found = 0;
  std::memcpy(&found, args.scratch.data(), sizeof found);
  run_region(args, region);
  first(args, region) += found;
}

std::byte* dead = nullptr;
void writes_elsewhere(const KernelArgs& args, const Region& region) noexcept {
  run_region(args, region);
  *dead = std::byte{1};
}

struct Toy {
  Graph graph = optimize(toy_llama({.T = 1, .D = 64}), RegionBackend());
  Memory memory;
  Workers workers{2};

  // Logits of two steps; the second one finds the first one's leftovers.
  std::vector<float> run(const Backend& backend, bool poison, int lanes = 2) {
    memory.clear_states(graph);
    TestSession session(graph, make_plan(graph, backend, {.name = "toy", .lanes = lanes}), backend,
                        memory, workers, {.poison = poison});
    std::vector<float> all = step(session, {3}, 0);
    const std::vector<float> more = step(session, {5}, 1);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string finding(const Backend& backend) {
    try {
      run(backend, true);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
};

TEST_CASE("poison: same bits") {
  Toy toy;
  for (const int lanes : {1, 2})
    CHECK(toy.run(RegionBackend(), true, lanes) == toy.run(RegionBackend(), false, lanes));
}

TEST_CASE("poison: a kernel that reads unwritten memory is reported") {
  Toy toy;
  const SpoiltBackend spoilt("rope", adds_to_what_is_there);
  toy.run(spoilt, false);  // nobody notices
  const std::string finding = toy.finding(spoilt);
  CAPTURE(finding);
  CHECK(finding.starts_with("plan 'toy': 'blk.0.rope"));
  CHECK(finding.find("gave NaN: it read unused memory") != std::string::npos);
}

TEST_CASE("poison: a kernel that expects zeroed scratch memory is reported") {
  Toy toy;
  const std::string finding = toy.finding(SpoiltBackend("attention", adds_scratch));
  CAPTURE(finding);
  CHECK(finding.starts_with("plan 'toy': 'blk.0.attention'"));
}

TEST_CASE("poison: a kernel that writes to unused memory is reported") {
  Graph g;
  const Tensor x = g.input("x", {f32, {1, 16}});
  const Tensor big = linear(x, g.weight("w", {f32, {4096, 16}})).named("big");
  const Tensor small = linear(big, g.weight("v", {f32, {16, 4096}})).named("small");
  const Tensor next = linear(small, g.weight("u", {f32, {16, 16}})).named("next");
  g.output("y", silu(next).named("y"));
  const SpoiltBackend spoilt("silu", writes_elsewhere);
  const Plan plan = make_plan(g, spoilt, {.name = "four", .lanes = 2});
  const auto place = [&](NodeId id) { return plan.placements[id]; };
  REQUIRE(place(big.id()).last_stage < place(g.find("y")).last_stage);
  Memory memory;
  Workers workers(2);
  TestSession session(g, plan, spoilt, memory, workers, {.poison = true});
  const std::span<std::byte> input = session.executor.input("x");
  dead = session.arena.data() + place(big.id()).offset + place(big.id()).bytes - 1;
  std::fill(input.begin(), input.end(), std::byte{0});
  CHECK_THROWS_WITH_AS(session.executor.run({}), doctest::Contains("wrote to byte"), Error);
}

}  // namespace
}  // namespace weft
