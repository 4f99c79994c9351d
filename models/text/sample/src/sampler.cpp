#include "weft/sample/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "weft/base/error.h"

namespace weft {
namespace {

// Throws unless a token can be chosen. Returns the largest logit.
float checked_max(std::span<const float> logits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::size_t kLanes = 16;  // computed side by side
  std::array<float, kLanes> best;
  std::array<std::int32_t, kLanes> wrong{};
  best.fill(-kInfinity);
  const auto add = [&](std::size_t lane, float logit) {
    best[lane] = logit > best[lane] ? logit : best[lane];
    wrong[lane] |= static_cast<std::int32_t>(!(logit < kInfinity));  // also NaN
  };
  const std::size_t whole = logits.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, logits[i + lane]);
  for (std::size_t i = whole; i < logits.size(); ++i) add(i - whole, logits[i]);
  if (std::ranges::any_of(wrong, [](std::int32_t w) { return w != 0; })) {
    const auto at = std::ranges::find_if(logits, [](float x) { return !(x < kInfinity); });
    fail<ValueError>("the logit of token {} is {}", at - logits.begin(), *at);
  }
  const float max = *std::ranges::max_element(best);
  if (max == -kInfinity)
    fail<ValueError>("no token can be chosen: all {} logits are -inf", logits.size());
  return max;
}

bool before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) {
    seed += 0x9E3779B97F4A7C15u;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

void Candidates::sort() {
  if (!sorted) std::sort(items.begin(), items.end(), before);
  sorted = true;
}

void Candidates::softmax() {
  float max = -std::numeric_limits<float>::infinity();
  for (const Candidate& c : items) max = std::max(max, c.logit);
  const auto weight = [max](float logit) { return std::exp(static_cast<double>(logit) - max); };
  double total = 0;
  for (const Candidate& c : items) total += weight(c.logit);
  for (Candidate& c : items) c.p = static_cast<float>(weight(c.logit) / total);
}

void Candidates::keep(std::size_t n) {
  items.resize(std::clamp<std::size_t>(n, 1, items.size()));
}

Candidate* Candidates::find(TokenId id) {
  // Until a stage reorders or removes candidates, their indices are their ids.
  const auto index = static_cast<std::size_t>(id);
  if (id >= 0 && index < items.size() && items[index].id == id) return &items[index];
  const auto found =
      std::find_if(items.begin(), items.end(), [id](const Candidate& c) { return c.id == id; });
  return found == items.end() ? nullptr : &*found;
}

Sampler::Sampler(std::vector<StagePtr> chain, std::uint64_t seed)
    : stages_(std::move(chain)), seed_(seed), random_(seed) {}

Sampler::Sampler(const Sampler& from)
    : seed_(from.seed_), random_(from.random_), candidates_(from.candidates_) {
  for (const StagePtr& stage : from.stages_) stages_.push_back(stage->clone());
}

Sampler& Sampler::operator=(const Sampler& from) {
  if (this != &from) *this = Sampler(from);
  return *this;
}

TokenId likeliest(std::span<const float> logits) {
  const float max = checked_max(logits);
  return static_cast<TokenId>(std::ranges::find(logits, max) - logits.begin());
}

TokenId Sampler::sample(std::span<const float> logits) {
  candidates_.sorted = false;
  if (stages_.size() == 1 && stages_.front()->keeps_likeliest()) {
    const TokenId id = likeliest(logits);
    candidates_.items.assign(1, {id, logits[static_cast<std::size_t>(id)], 1});
    return id;
  }
  checked_max(logits);
  candidates_.items.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    candidates_.items[i] = {static_cast<TokenId>(i), logits[i], 0.0F};
  for (const auto& stage : stages_) stage->apply(candidates_, random_);
  candidates_.softmax();
  const std::vector<Candidate>& items = candidates_.items;
  if (items.size() == 1) return items.front().id;
  double left = random_.uniform();
  TokenId last = kNoToken;
  for (const Candidate& c : items) {
    if (c.p <= 0.0F) continue;
    last = c.id;
    left -= c.p;
    if (left < 0) break;
  }
  return last;
}

void Sampler::accept(TokenId id) {
  for (const auto& stage : stages_) stage->accept(id);
}

void Sampler::reset() {
  for (const auto& stage : stages_) stage->reset();
  random_ = Random(seed_);
}

void Sampler::reseed(std::uint64_t seed) {
  seed_ = seed;
  random_ = Random(seed);
}

}  // namespace weft
