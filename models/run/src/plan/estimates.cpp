#include "weft/run/estimates.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "weft/base/clock.h"
#include "weft/base/error.h"

#include "plan/sampled_weights.h"
#include "plan/session_plan.h"
#include "streaming/expert_cache.h"
#include "weights/weight_loader.h"

namespace weft {
namespace {

using namespace run;

// Experts that are chosen at random, with a distribution of their own in each layer. A router
// computes a number for each expert and chooses the largest. Here these numbers are normally
// distributed, with deviations that are log-normally distributed over the experts.
class RandomRouter {
 public:
  RandomRouter(const ExpertGroup& group, double skew, std::mt19937& random)
      : n_chosen_(static_cast<std::size_t>(group.n_chosen)), random_(random) {
    const auto n = static_cast<std::size_t>(group.n_experts);
    for (std::size_t e = 0; e < n; ++e) {
      const double x = (static_cast<double>(e) + 0.5) / static_cast<double>(n);
      const double quantile = std::log(x / (1 - x)) / 1.702;  // about that of the normal one
      deviations_.push_back(static_cast<float>(std::exp(skew * quantile)));
    }
    std::ranges::shuffle(deviations_, random);
    scores_.resize(n);
  }

  // Adds the choices of one token to the counts of experts.
  void choose(std::vector<std::int32_t>& counts) {
    for (std::size_t e = 0; e < scores_.size(); ++e)
      scores_[e] = {normal_(random_) * deviations_[e], e};
    const auto n = static_cast<std::ptrdiff_t>(std::min(n_chosen_, scores_.size()));
    std::ranges::partial_sort(scores_, scores_.begin() + n, std::greater());
    for (std::ptrdiff_t i = 0; i < n; ++i) ++counts[scores_[static_cast<std::size_t>(i)].second];
  }

 private:
  std::size_t n_chosen_;
  std::mt19937& random_;
  std::normal_distribution<float> normal_;
  std::vector<float> deviations_;
  std::vector<std::pair<float, std::size_t>> scores_;
};

// Steps that choose experts of a cache.
class RandomSteps {
 public:
  RandomSteps(const Residency& residency, std::int64_t n_tokens, double skew)
      : residency_(residency), n_tokens_(n_tokens), cache_(residency) {
    for (const ExpertGroup& group : residency.groups) routers_.emplace_back(group, skew, random_);
  }

  void run() {
    for (std::size_t g = 0; g < routers_.size(); ++g) run(g);
  }
  void forget() { needed_ = missing_ = bytes_ = 0; }
  std::int64_t needed() const { return needed_; }
  std::int64_t missing() const { return missing_; }
  std::int64_t missing_bytes() const { return bytes_; }

 private:
  void run(std::size_t g) {
    const ExpertGroup& group = residency_.groups[g];
    std::vector<std::int32_t> counts(static_cast<std::size_t>(group.n_experts)), missing, held;
    for (std::int64_t t = 0; t < n_tokens_; ++t) routers_[g].choose(counts);
    for (std::int32_t e = 0; e < std::ssize(counts); ++e) {
      if (counts[static_cast<std::size_t>(e)] == 0) continue;
      const std::int32_t slot = cache_.slot_of(g, e);
      slot == kNoSlot ? missing.push_back(e) : held.push_back(slot);
    }
    needed_ += std::ssize(missing) + std::ssize(held);
    missing_ += std::ssize(missing);
    bytes_ += std::ssize(missing) * group.expert_bytes;
    for (const std::int32_t slot : held) cache_.hold(slot);
    std::vector<std::int32_t> taken;
    cache_.take(g, missing, {.group = g, .n_tokens = n_tokens_}, taken);
    for (const std::int32_t slot : held) cache_.release(slot);
    cache_.count(g, counts, n_tokens_);
  }

  const Residency& residency_;
  const std::int64_t n_tokens_;
  std::mt19937 random_{7};
  ExpertCache cache_;
  std::vector<RandomRouter> routers_;
  std::int64_t needed_ = 0, missing_ = 0, bytes_ = 0;
};

// The seconds that a thread needs for each byte of a weight that it packs.
double seconds_per_byte(const Checkpoint& file, const PlacedWeight& weight) {
  constexpr std::int64_t kBytes = std::int64_t{8} << 20;
  first_rows(file, weight, kBytes);  // from the disk
  const auto begun = Clock::now();
  const std::vector<std::byte> rows = first_rows(file, weight, kBytes);
  return seconds_since(begun) / static_cast<double>(rows.size());
}

}  // namespace

CacheEstimate estimate_cache(const Residency& residency, std::int64_t n_tokens, double skew,
                             const std::atomic<bool>* cancel) {
  // The cache is full after the first, and its frequencies are those of many tokens.
  constexpr std::int64_t kTokensBefore = 512, kTokens = 128, kMinSteps = 3;
  if (residency.groups.empty()) return {};
  RandomSteps steps(residency, n_tokens, skew);
  const auto run = [&](std::int64_t tokens) {
    const std::int64_t n = std::max(kMinSteps, tokens / n_tokens);
    for (std::int64_t i = 0; i < n; ++i) {
      if (cancel && *cancel) fail<CancelledError>("the estimate was cancelled");
      steps.run();
    }
    return n;
  };
  run(kTokensBefore);
  steps.forget();
  const auto n = static_cast<double>(run(kTokens));
  const auto needed = static_cast<double>(std::max<std::int64_t>(1, steps.needed()));
  return {.hit_rate = 1 - static_cast<double>(steps.missing()) / needed,
          .bytes_per_step = static_cast<double>(steps.missing_bytes()) / n};
}

std::int64_t sample_bytes(const Model& model, const PlannedModel& planned) {
  const WeightLayout layout = layout_weights(model, planned);
  return SampledWeights::bytes_for(layout, kind_bytes_for(layout, planned));
}

LoadEstimate estimate_load(const Model& model, const PlannedModel& planned) {
  const WeightLayout layout = layout_weights(model, planned);
  LoadEstimate load;
  std::vector<std::pair<const PlacedWeight*, std::int64_t>> packed;  // the largest, and the sum
  for (const PlacedWeight& w : layout.weights) {
    if (w.offset != kInFile || (w.whole && !w.streamed)) load.bytes += w.tensor->n_bytes;
    if (w.offset == kInFile) continue;
    const auto same = std::ranges::find_if(packed, [&](const auto& other) {
      return other.first->dtype == w.dtype &&
             other.first->tensor->spec.dtype == w.tensor->spec.dtype;
    });
    auto& [largest, sum] = same == packed.end() ? packed.emplace_back(&w, 0) : *same;
    sum += w.bytes();
    if (w.bytes() > largest->bytes()) largest = &w;
  }
  for (const auto& [largest, sum] : packed)
    load.cached_seconds += seconds_per_byte(model.weights(), *largest) * static_cast<double>(sum);
  load.cached_seconds /= planned.options.workers;
  return load;
}

}  // namespace weft
