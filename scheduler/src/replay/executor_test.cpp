#include "weft/scheduler/executor.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/scheduler/passes.h"
#include "weft/scheduler/profiler.h"

#include "support/region_backend.h"
#include "support/session.h"
#include "support/toy_llama.h"

namespace weft {
namespace {

using namespace weft::test;

const RegionBackend kRegionBackend;

// Sleeps now and then before a kernel, so that lanes are late and others take over.
struct Delays : NodeObserver {
  explicit Delays(unsigned seed) : random(seed) {}
  void before(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {
    const unsigned n = random.fetch_add(0x9e3779b9u) * 0x85ebca6bu >> 16;
    if (n % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(n % 257));
  }
  void after(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {}
  std::atomic<unsigned> random;
};

struct How {
  int lanes = 1;
  int workers = 0;  // 0: one per lane
  double share_ns = 4000;
  NodeObserver* observer = nullptr;
  ReplayKind replay = ReplayKind::crew;
};

constexpr ReplayKind kReplays[] = {ReplayKind::crew, ReplayKind::flow};

// Logits of a prefill in two chunks and two decode steps.
std::vector<float> conversation(const Backend& backend, const ToyDims& dims, const How& how) {
  Memory memory;
  Workers workers(how.workers > 0 ? how.workers : how.lanes);
  ToyDims narrow = dims;
  narrow.T = 1;
  const Graph wide_graph = toy_llama(dims), narrow_graph = toy_llama(narrow);
  PlanOptions options{
      .name = "wide", .lanes = how.lanes, .share_ns = how.share_ns, .replay = how.replay};
  TestSession wide(wide_graph, backend, options, memory, workers);
  options.name = "decode";
  TestSession decode(narrow_graph, backend, options, memory, workers);
  CHECK(decode.plan.replay == (how.lanes > 1 ? how.replay : ReplayKind::alone));
  check(wide.plan, wide_graph);
  check(decode.plan, narrow_graph);
  std::vector<float> all;
  const auto keep = [&](const std::vector<float>& logits) {
    all.insert(all.end(), logits.begin(), logits.end());
  };
  keep(step(wide, {1, 2, 3, 4, 5}, 0, nullptr, how.observer));
  keep(step(wide, {6, 7, 8}, 5, nullptr, how.observer));
  keep(step(decode, {9}, 8, nullptr, how.observer));
  keep(step(decode, {10}, 9, nullptr, how.observer));
  return all;
}

TEST_CASE("results do not depend on the number of lanes") {
  const ToyDims shapes[] = {
      {.T = 5},
      {.T = 5, .D = 48, .H = 3, .G = 1, .E = 16},
      {.T = 5, .H = 7, .G = 7, .E = 8, .F = 40},
      {.T = 5, .D = 32, .H = 9, .G = 3, .E = 2, .F = 31, .V = 11, .bias = true}};
  for (const ToyDims& dims : shapes) {
    CAPTURE(dims.H);
    const std::vector<float> plain = conversation(reference_backend(), dims, {});
    for (const float x : plain) REQUIRE(std::isfinite(x));
    for (const int lanes : {1, 2, 3, 7}) {
      CAPTURE(lanes);
      for (const ReplayKind replay : kReplays) {
        CAPTURE(to_string(replay));
        How how{.lanes = lanes, .replay = replay};
        CHECK(conversation(kRegionBackend, dims, how) == plain);
        CHECK(conversation(reference_backend(), dims, how) == plain);
        how.share_ns = 0;
        CHECK(conversation(kRegionBackend, dims, how) == plain);
      }
    }
  }
}

TEST_CASE("results depend neither on which thread is late nor on the number of threads") {
  std::mt19937 random(11);
  const auto pick = [&](int from, int to) {
    return std::uniform_int_distribution(from, to)(random);
  };
  for (int i = 0; i < 12; ++i) {
    const int group = pick(1, 3);
    ToyDims dims{.T = 5, .D = 16 * pick(1, 4), .G = pick(1, 4), .E = 8 * pick(1, 3)};
    dims.H = group * dims.G, dims.F = pick(20, 90), dims.V = pick(10, 60);
    const std::vector<float> plain = conversation(reference_backend(), dims, {});
    Delays delays(static_cast<unsigned>(i));
    const How how{.lanes = pick(2, 4),
                  .workers = pick(1, 6),
                  .share_ns = i % 3 == 0 ? 4000.0 : 0.0,
                  .observer = &delays};
    CAPTURE(how.lanes);
    CAPTURE(how.workers);
    for (const ReplayKind replay : kReplays) {
      CAPTURE(to_string(replay));
      How one = how;
      one.replay = replay;
      CHECK(conversation(kRegionBackend, dims, one) == plain);
    }
  }
}

struct Setup {
  Graph graph = optimize(toy_llama({.T = 3}), kRegionBackend);
  Memory memory;
  Workers workers{2};
  TestSession session;
  explicit Setup(int lanes, double share_ns = 4000, ReplayKind replay = ReplayKind::crew)
      : session(graph, kRegionBackend,
                {.name = "test", .lanes = lanes, .share_ns = share_ns, .replay = replay}, memory,
                workers) {}
};

TEST_CASE("reuse of the arena changes no result, and without it every value can be inspected") {
  Setup reused(2);
  TestSession apart(reused.graph, kRegionBackend, {.lanes = 2, .separate_tensors = true},
                    reused.memory, reused.workers);
  const auto a = step(reused.session, {1, 2, 3}, 0);
  CHECK(step(apart, {1, 2, 3}, 0) == a);
  const View norm = apart.executor.value(reused.graph.find("blk.1.ffn_norm"));
  CHECK(norm.rows() == 3);
  CHECK(std::isfinite(norm.row<float>(2)[0]));
}

// Cancels when a node begins, and counts the nodes that run.
struct Canceller : NodeObserver {
  std::atomic<bool> cancel{false};
  std::atomic<int> begun{0}, ended{0};
  std::string at;
  void before(const PlanStep& node, int, const KernelArgs&, const Region&) noexcept override {
    ++begun;
    if (node.path == at) cancel = true;
  }
  void after(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override { ++ended; }
};

TEST_CASE("a cancelled run stops at the next node and does not affect the next run") {
  for (const auto& [lanes, replay] : {std::pair{1, ReplayKind::crew},
                                      {2, ReplayKind::crew},
                                      {3, ReplayKind::crew},
                                      {2, ReplayKind::flow},
                                      {3, ReplayKind::flow}}) {
    CAPTURE(lanes);
    CAPTURE(to_string(replay));
    Setup s(lanes, lanes == 3 ? 0 : 4000, replay);
    const auto want = step(s.session, {1, 2}, 0);
    Canceller all;
    step(s.session, {1, 2}, 0, &all.cancel, &all);
    CHECK(all.begun == all.ended);
    Canceller some;
    some.at = s.session.plan.steps[s.session.plan.steps.size() / 2].path;
    CHECK_THROWS_AS(step(s.session, {1, 2}, 0, &some.cancel, &some), CancelledError);
    CHECK(some.begun == some.ended);
    CHECK(some.begun < all.begun);
    CHECK(step(s.session, {1, 2}, 0) == want);
  }
}

TEST_CASE("observers see every lane's regions: together the whole output, once or once per copy") {
  struct Areas : NodeObserver {
    std::mutex mutex;
    std::map<const PlanStep*, std::int64_t> elems, whole;
    void before(const PlanStep& node, int, const KernelArgs& args,
                const Region& r) noexcept override {
      const std::lock_guard lock(mutex);
      elems[&node] += (r.row1 - r.row0) * (r.col1 - r.col0);
      whole[&node] = args.out.rows() * args.out.cols();
    }
    void after(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {}
  };
  for (const auto& [share_ns, replay] : {std::pair{4000.0, ReplayKind::crew},
                                         {0.0, ReplayKind::crew},
                                         {4000.0, ReplayKind::flow},
                                         {0.0, ReplayKind::flow}}) {
    Setup s(3, share_ns, replay);
    Areas areas;
    step(s.session, {1, 2}, 0, nullptr, &areas);
    CHECK(areas.elems.size() == s.session.plan.steps.size());
    for (const auto& [node, n] : areas.elems) {
      CAPTURE(node->path);
      CHECK(n == areas.whole[node] * (node->split == Split::copies ? 3 : 1));
    }
  }
}

TEST_CASE("arguments that do not fit are rejected") {
  Setup s(1);
  Extents extents{};
  extents[0] = 4, extents[1] = 1;
  CHECK_THROWS_WITH_AS(s.session.executor.run(extents),
                       "variable T must be 1 to 3 in plan 'test', got 4", ValueError);
  extents[0] = 0;
  CHECK_THROWS_AS(s.session.executor.run(extents), ValueError);
  CHECK_THROWS_AS(s.session.executor.input("logits"), ValueError);
  CHECK_THROWS_AS(s.session.executor.output("tokens"), ValueError);
  CHECK_THROWS_AS(s.session.executor.value(-1), ValueError);

  const Plan& plan = s.session.plan;
  const auto bind = [&](const Backend& backend, Bindings bindings) {
    Executor(s.graph, plan, backend, bindings, s.workers);
  };
  Bindings good{.weight = [&](const Node& n) { return s.memory.weight(n); },
                .state = [&](const Node& n) { return s.memory.state(n); },
                .arena = s.session.arena.bytes(),
                .scratch = s.session.scratch.bytes()};
  CHECK_NOTHROW(bind(kRegionBackend, good));
  CHECK_THROWS_AS(bind(reference_backend(), good), ValueError);
  Bindings bad = good;
  bad.arena = bad.arena.first(64);
  CHECK_THROWS_AS(bind(kRegionBackend, bad), ValueError);
  bad = good;
  bad.arena = Buffer(plan.arena_bytes + 64).bytes().subspan(4);
  CHECK_THROWS_AS(bind(kRegionBackend, bad), ValueError);
  bad = good;
  bad.state = nullptr;
  CHECK_THROWS_WITH_AS(bind(kRegionBackend, bad), "state 'k.0' is not bound", ValueError);
  bad = good;
  bad.weight = [](const Node&) -> const std::byte* { return nullptr; };
  CHECK_THROWS_AS(bind(kRegionBackend, bad), ValueError);
}

TEST_CASE("a profiler sees every call once, ordered by time, and drops calls beyond its capacity") {
  for (const ReplayKind replay : kReplays) {
    Setup s(2, 4000, replay);
    Profiler profiler(2, 1000);
    const std::int64_t begin_ns = profiler.now_ns();
    step(s.session, {1, 2}, 0, nullptr, &profiler);
    const std::int64_t end_ns = profiler.now_ns();
    Canceller counter;
    step(s.session, {1, 2}, 0, nullptr, &counter);
    std::size_t n_calls = 0;
    for (int w = 0; w < profiler.workers(); ++w) {
      std::int64_t last_ns = begin_ns;
      for (const ProfiledCall& call : profiler.calls(w)) {
        CHECK(call.begin_ns >= last_ns);
        CHECK(call.end_ns >= call.begin_ns);
        last_ns = call.end_ns;
      }
      CHECK(last_ns <= end_ns);
      n_calls += profiler.calls(w).size();
    }
    CHECK(n_calls == static_cast<std::size_t>(counter.ended));
    CHECK(profiler.dropped() == 0);

    Profiler small(2, 3);
    step(s.session, {1, 2}, 0, nullptr, &small);
    const std::size_t kept = small.calls(0).size() + small.calls(1).size();
    CHECK(kept <= 6);
    CHECK(static_cast<std::size_t>(small.dropped()) + kept == n_calls);
    small.clear();
    CHECK(small.calls(0).empty());
  }
}

}  // namespace
}  // namespace weft
