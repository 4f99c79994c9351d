// Which weights stay in memory, and which experts.

#include "streaming/residency.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "plan/session_plan.h"
#include "streaming/expert_cache.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

using namespace weft;
using namespace weft::run;

namespace {

PlannedModel planned_with(const Model& model, int workers) {
  SessionOptions options{.context = 64, .prefill_width = 32, .workers = workers};
  options.weights = WeightMode::streamed;
  return plan_all(model, resolve(model, options), WeightMode::streamed);
}

// Weights that a plan reads in the same stage; one lane runs step by step.
std::map<std::int32_t, std::set<std::string>> by_stage(const Graph& graph, const Plan& plan) {
  std::map<std::int32_t, std::set<std::string>> stages;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    for (const NodeId id : graph[step.node].inputs) {
      if (id != kNoNode && graph[id].kind == NodeKind::weight)
        stages[plan.lanes == 1 ? static_cast<std::int32_t>(s) : step.stage].insert(graph[id].path);
    }
  }
  return stages;
}

void check_ring(const PlannedModel& planned, const Residency& r) {
  for (std::size_t i = 0; i < planned.n_step_plans; ++i) {
    for (const auto& [stage, paths] : by_stage(planned.graphs[i], planned.plans[i])) {
      std::vector<StreamedWeight> together;
      std::ranges::copy_if(r.streamed, std::back_inserter(together),
                           [&](const StreamedWeight& w) { return paths.contains(w.path); });
      std::ranges::sort(together, {}, &StreamedWeight::offset);
      for (std::size_t k = 0; k < together.size(); ++k) {
        REQUIRE(together[k].offset + together[k].place <= r.ring_bytes);
        if (k > 0) REQUIRE(together[k - 1].offset + together[k - 1].place <= together[k].offset);
      }
    }
  }
}

// 4 layers of 64 experts, of which tokens choose 4.
Residency layers_of_experts(std::int64_t n_slots) {
  Residency r;
  for (int layer = 0; layer < 4; ++layer)
    r.groups.push_back({.n_experts = 64, .n_chosen = 4, .max_tokens = 64});
  r.slots.push_back({.slot_bytes = 4096, .n_experts = 256, .min_slots = 64, .n_slots = n_slots});
  return r;
}

// Expert e is chosen with a probability proportional to 1 / (e + 1), in another order in each
// layer.
std::vector<std::int32_t> choose(std::mt19937& random, int layer) {
  std::set<std::int32_t> chosen;
  while (chosen.size() < 4) {
    std::uniform_real_distribution<double> uniform(0, 1);
    const auto rank = static_cast<std::int32_t>(std::pow(65.0, uniform(random))) - 1;
    chosen.insert((rank * 7 + layer * 13) % 64);
  }
  return {chosen.begin(), chosen.end()};
}

// Uses the cache as a step does, and returns how many of the experts it had.
std::int64_t step(ExpertCache& cache, std::size_t layer, const std::vector<std::int32_t>& experts,
                  std::int64_t n_tokens) {
  std::vector<std::int32_t> missing, taken, counts(64);
  for (const std::int32_t e : experts) {
    counts[static_cast<std::size_t>(e)] = static_cast<std::int32_t>(n_tokens);
    if (cache.slot_of(layer, e) == kNoSlot)
      missing.push_back(e);
    else
      cache.hold(cache.slot_of(layer, e));
  }
  cache.take(layer, missing, {.group = layer, .n_tokens = n_tokens}, taken);
  REQUIRE(taken.size() == missing.size());
  for (const std::int32_t slot : taken) cache.hold(slot);
  cache.count(layer, counts, n_tokens);
  for (const std::int32_t e : experts) {
    REQUIRE(cache.owner(cache.slot_of(layer, e)).expert == e);
    cache.release(cache.slot_of(layer, e));
  }
  return std::ssize(experts) - std::ssize(missing);
}

// The hits of the same choices when the least recently used expert makes room.
class LeastRecentlyUsed {
 public:
  explicit LeastRecentlyUsed(std::size_t n) : n_(n) {}
  std::int64_t use(int layer, const std::vector<std::int32_t>& experts) {
    std::int64_t hits = 0;
    for (const std::int32_t e : experts) {
      const auto at = std::ranges::find(all_, std::pair(layer, e));
      hits += at != all_.end();
      if (at != all_.end()) all_.erase(at);
      all_.emplace_front(layer, e);
      if (all_.size() > n_) all_.pop_back();
    }
    return hits;
  }

 private:
  std::size_t n_;
  std::list<std::pair<int, std::int32_t>> all_;
};

}  // namespace

TEST_CASE("residencies fill the bytes they may have, and weights of a stage do not overlap") {
  for (const bool experts : {false, true}) {
    for (const int workers : {1, 2}) {
      const test::TempFolder folder;
      const std::string path = (folder / "model.gguf").string();
      test::write_tiny_model({.arch = experts ? "qwen3moe" : "llama",
                              .sizes = {.L = 9, .X = experts ? std::int64_t{16} : 0}},
                             path);
      const auto model = Model::load(path);
      const PlannedModel planned = planned_with(*model, workers);
      const Streamable weights = find_streamable(*model, planned);
      CAPTURE(experts);
      CAPTURE(workers);
      CHECK(weights.experts.groups.size() == (experts ? 9 : 0));
      CHECK(weights.whole.size() >= 9);
      std::int64_t all = weights.experts.expert_bytes();
      for (const Streamable::Whole& w : weights.whole) all += w.bytes;
      const std::int64_t least = smallest_residency(weights).bytes();
      CHECK(!residency_within(weights, least - 1));
      std::int64_t streamed = all, cached = 0;
      for (int i = 0; i <= 40; ++i) {
        const std::int64_t bytes = least + (2 * all - least) * i / 40;
        const auto r = residency_within(weights, bytes);
        REQUIRE(r);
        check_ring(planned, *r);
        std::int64_t kept = 0;
        for (const Streamable::Whole& w : weights.whole)
          kept += std::ranges::count(r->streamed, w.path, &StreamedWeight::path) == 0 ? w.bytes : 0;
        REQUIRE(r->bytes() + kept <= bytes);
        // More bytes never stream more.
        REQUIRE(r->streamed_bytes() <= streamed);
        REQUIRE(r->cache_bytes() >= cached);
        streamed = r->streamed_bytes();
        cached = r->cache_bytes();
      }
      CHECK(streamed == 0);
    }
  }
}

TEST_CASE("decoding finds more experts than with the least recently used ones, wide steps many") {
  constexpr std::int64_t kSlots = 100;  // of 256 experts
  ExpertCache cache(layers_of_experts(kSlots));
  LeastRecentlyUsed other(kSlots);
  std::mt19937 random(5);
  std::int64_t hits = 0, other_hits = 0;
  std::map<std::pair<int, std::int32_t>, std::int64_t> counts;
  for (int token = 0; token < 2000; ++token) {
    for (int layer = 0; layer < 4; ++layer) {
      const std::vector<std::int32_t> experts = choose(random, layer);
      hits += step(cache, static_cast<std::size_t>(layer), experts, 1);
      other_hits += other.use(layer, experts);
      for (const std::int32_t e : experts) ++counts[{layer, e}];
    }
  }
  CHECK(hits > other_hits);
  // Knowing all choices before, one would keep those that are chosen most.
  std::vector<std::int64_t> most;
  for (const auto& [expert, n] : counts) most.push_back(n);
  std::ranges::sort(most, std::greater());
  const std::int64_t best = std::accumulate(most.begin(), most.begin() + kSlots, std::int64_t{0});
  CAPTURE(best);
  CHECK(hits > best * 9 / 10);
  // In turn, all experts of all layers: what was used last is needed last.
  std::vector<std::int32_t> every(64);
  for (std::int32_t e = 0; e < 64; ++e) every[static_cast<std::size_t>(e)] = e;
  std::int64_t of_last = 0;
  for (int round = 0; round < 10; ++round) {
    of_last = 0;
    for (std::size_t layer = 0; layer < 4; ++layer) of_last += step(cache, layer, every, 64);
  }
  CHECK(of_last >= kSlots - 64);
}

TEST_CASE("held slots and better ones do not make room") {
  ExpertCache cache(layers_of_experts(64));
  std::vector<std::int32_t> taken;
  std::vector<std::int32_t> every(64);
  for (std::int32_t e = 0; e < 64; ++e) every[static_cast<std::size_t>(e)] = e;
  cache.take(0, every, {.group = 0}, taken);
  REQUIRE(taken.size() == 64);
  for (const std::int32_t slot : taken) cache.hold(slot);
  const std::int32_t one[] = {7};
  taken.clear();
  cache.take(1, one, {.group = 1}, taken);
  CHECK(taken.empty());
  cache.release(3);
  // Group 2 is read ahead in group 1, but group 0 is never further away than the rest of a round.
  const std::int32_t expert = cache.owner(3).expert;
  cache.set_frequency(0, expert, 1);
  cache.take(2, one, {.group = 1}, taken);
  CHECK(taken.empty());
  cache.take(1, one, {.group = 1}, taken);
  REQUIRE(taken == std::vector<std::int32_t>{3});
  CHECK(cache.owner(3).group == 1);
  CHECK(cache.slot_of(0, expert) == kNoSlot);
}
