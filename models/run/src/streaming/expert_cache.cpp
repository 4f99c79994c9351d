#include "streaming/expert_cache.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::run {
namespace {

// The moving averages: after this many tokens, the weight of a choice has fallen to 1/e.
constexpr float kFast = 16, kSlow = 256;
// Experts that are chosen more rarely count as if they had this frequency, so that only their
// layers tell them apart.
constexpr float kMinFrequency = 1e-4f;

}  // namespace

ExpertCache::ExpertCache(const Residency& residency) {
  std::size_t n = 0, most = 0;
  for (const SlotClass& slots : residency.slots) {
    first_.push_back(n);
    n += static_cast<std::size_t>(slots.n_slots);
    most = std::max(most, static_cast<std::size_t>(slots.n_slots));
  }
  first_.push_back(n);
  slots_.resize(n);
  victims_.reserve(most);
  for (const ExpertGroup& group : residency.groups) {
    const auto n_experts = static_cast<std::size_t>(group.n_experts);
    const auto uniform = static_cast<float>(group.n_chosen) /
                         static_cast<float>(std::max<std::int64_t>(1, group.n_experts));
    groups_.push_back({.slots = static_cast<std::size_t>(group.slots),
                       .slot_of = std::vector<std::int32_t>(n_experts, kNoSlot),
                       .frequencies = std::vector<Frequency>(n_experts, {uniform, uniform})});
  }
}

float ExpertCache::needed_after(Owner owner, Now now) const {
  if (owner.group < 0) return std::numeric_limits<float>::infinity();
  const auto group = static_cast<std::size_t>(owner.group);
  const std::size_t n = groups_.size();
  // The group that is computed now is needed again after a whole round.
  const std::size_t ahead = group > now.group ? group - now.group : group + n - now.group;
  const float p = groups_[group].frequencies[static_cast<std::size_t>(owner.expert)].mean();
  const float in_step = static_cast<float>(now.n_tokens) * std::max(p, kMinFrequency);
  return static_cast<float>(ahead) / static_cast<float>(n) + std::max(0.0f, 1 / in_step - 1);
}

void ExpertCache::take(std::size_t group, std::span<const std::int32_t> experts, Now now,
                       std::vector<std::int32_t>& taken) {
  Group& g = groups_[group];
  victims_.clear();
  for (std::size_t i = first_[g.slots]; i < first_[g.slots + 1]; ++i) {
    if (slots_[i].held == 0)
      victims_.push_back({needed_after(slots_[i].owner, now), static_cast<std::int32_t>(i)});
  }
  const auto n = static_cast<std::ptrdiff_t>(std::min(victims_.size(), experts.size()));
  std::partial_sort(
      victims_.begin(), victims_.begin() + n, victims_.end(),
      [](const Victim& a, const Victim& b) { return a.needed_after > b.needed_after; });
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const std::int32_t expert = experts[static_cast<std::size_t>(i)];
    const Victim& victim = victims_[static_cast<std::size_t>(i)];
    const Owner owner{static_cast<std::int32_t>(group), expert};
    if (group != now.group && !now.certain && needed_after(owner, now) >= victim.needed_after)
      return;
    vacate(victim.slot);
    slots_[static_cast<std::size_t>(victim.slot)].owner = owner;
    g.slot_of[static_cast<std::size_t>(expert)] = victim.slot;
    taken.push_back(victim.slot);
  }
}

void ExpertCache::vacate(std::int32_t slot) {
  Owner& owner = slots_[static_cast<std::size_t>(slot)].owner;
  if (owner.group >= 0)
    groups_[static_cast<std::size_t>(owner.group)].slot_of[static_cast<std::size_t>(owner.expert)] =
        kNoSlot;
  owner = {};
}

void ExpertCache::count(std::size_t group, std::span<const std::int32_t> counts,
                        std::int64_t n_tokens) {
  const auto t = static_cast<float>(n_tokens);
  const float keep_fast = std::exp(-t / kFast), keep_slow = std::exp(-t / kSlow);
  std::vector<Frequency>& all = groups_[group].frequencies;
  for (std::size_t e = 0; e < all.size(); ++e) {
    const float share = static_cast<float>(counts[e]) / t;
    all[e].fast = all[e].fast * keep_fast + share * (1 - keep_fast);
    all[e].slow = all[e].slow * keep_slow + share * (1 - keep_slow);
  }
}

float ExpertCache::frequency(std::size_t group, std::int64_t expert) const {
  return groups_[group].frequencies[static_cast<std::size_t>(expert)].mean();
}

void ExpertCache::set_frequency(std::size_t group, std::int64_t expert, float frequency) {
  groups_[group].frequencies[static_cast<std::size_t>(expert)] = {frequency, frequency};
}

}  // namespace weft::run
