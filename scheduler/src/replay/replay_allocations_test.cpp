// Replay allocates nothing: counted over the whole process, oneTBB included.

#include <memory>

#include <doctest/doctest.h>
#include <oneapi/tbb/cache_aligned_allocator.h>

#include "weft/backends/memory.h"
#include "weft/scheduler/executor.h"
#include "weft/scheduler/passes.h"
#include "weft/scheduler/planner.h"

#include "support/allocations.h"
#include "support/toy_llama.h"

namespace weft {
namespace {

using namespace weft::test;

// A kernel that allocates nothing, unlike scalar definitions: every element of its columns becomes
// a mix of its inputs.
void mix(const KernelArgs& args, const Region& region) noexcept {
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    std::byte* row = args.out.row<std::byte>(r);
    for (std::int64_t c = args.out.dtype.bytes(region.col0); c < args.out.dtype.bytes(region.col1);
         ++c) {
      row[c] = static_cast<std::byte>(c + (args.in[0] ? static_cast<int>(args.in[0].data[0]) : 0));
    }
  }
}

class MixBackend : public Backend {
 public:
  std::string_view name() const override { return "mix"; }
  std::string description() const override { return "kernels that do next to nothing"; }
  std::optional<Kernel> find(const Graph&, const Node& node) const override {
    return Kernel{.row = node.op->name, .run = mix};
  }
};
const MixBackend kMix;

// A plan of many joins, and how often the process allocates while it is run. The kernels look at
// one byte of a weight, so that one buffer can stand for all of them.
class CountedReplay {
 public:
  explicit CountedReplay(int lanes, ReplayKind replay = ReplayKind::crew)
      : graph_(optimize(toy_llama({.T = 4, .D = 1024, .H = 8, .G = 4, .E = 128, .F = 2048, .L = 6}),
                        kMix)),
        plan_(make_plan(graph_, kMix, {.name = "replay", .lanes = lanes, .replay = replay})),
        arena_(plan_.arena_bytes),
        states_(plan_.state_bytes),
        workers_(lanes),
        executor_(graph_, plan_, kMix,
                  {.weight = [this](const Node&) { return weight_.data(); },
                   .state = [this](const Node&) { return states_.data(); },
                   .arena = arena_.bytes()},
                  workers_) {}

  std::int64_t run(int times, NodeObserver* observer = nullptr) {
    const std::int64_t before = allocations();
    Extents extents{};
    for (int i = 0; i < times; ++i) {
      extents[0] = extents[1] = 1 + i % 4;
      executor_.run(extents, {.observer = observer});
    }
    return allocations() - before;
  }
  const Plan& plan() const { return plan_; }

 private:
  Graph graph_;
  Plan plan_;
  Buffer arena_, states_, weight_{kAlignment};
  Workers workers_;
  Executor executor_;
};

TEST_CASE("a run allocates nothing") {
  for (const auto& [lanes, kind] : {std::pair{1, ReplayKind::alone},
                                    {2, ReplayKind::crew},
                                    {2, ReplayKind::flow},
                                    {3, ReplayKind::flow}}) {
    CAPTURE(lanes);
    CAPTURE(to_string(kind));
    CountedReplay replay(lanes, kind);
    CHECK(replay.plan().replay == kind);
    CHECK((replay.plan().joins() > 20) == (lanes > 1));
    const std::int64_t warming = replay.run(50);
    CAPTURE(warming);
    CHECK(replay.run(500) == 0);
  }
}

struct Allocating : NodeObserver {
  void before(const PlanStep& step, int, const KernelArgs&, const Region&) noexcept override {
    if (step.stage == 0) kept = std::make_unique<int>(1);
  }
  void after(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {}
  std::unique_ptr<int> kept;
};

TEST_CASE("the count includes allocations of nodes and of oneTBB") {
  CountedReplay replay(1);
  replay.run(1);
  Allocating observer;
  CHECK(replay.run(1, &observer) > 0);

  const std::int64_t before = allocations();
  oneapi::tbb::cache_aligned_allocator<char> allocator;
  allocator.deallocate(allocator.allocate(64), 64);
  CHECK(allocations() == before + 1);
}

}  // namespace
}  // namespace weft
