#pragma once
// Which experts are in which slots, and which one makes room for another. Knows no files and no
// threads: the caller holds a lock.
//
// The expert that is expected to be needed last makes room. Let p be the share of tokens that chose
// an expert, the mean of a fast and a slow moving average. A step of T tokens needs the expert with
// probability q = min(1, T p). It is thus expected to be needed again after the layers until its
// own, a part of a step, and another 1 / q - 1 steps. Decoding keeps the experts that are chosen
// often. Wide steps, which need nearly all experts, keep those of the layers that come next.

#include <cstdint>
#include <span>
#include <vector>

#include "weft/run/residency.h"

namespace weft::run {

inline constexpr std::int32_t kNoSlot = -1;

class ExpertCache {
 public:
  explicit ExpertCache(const Residency& residency);

  // Slots are numbered through all classes.
  std::size_t n_slots() const { return slots_.size(); }
  std::int32_t slot_of(std::size_t group, std::int64_t expert) const {
    return groups_[group].slot_of[static_cast<std::size_t>(expert)];
  }
  struct Owner {
    std::int32_t group = -1, expert = -1;
  };
  Owner owner(std::int32_t slot) const { return slots_[static_cast<std::size_t>(slot)].owner; }

  // A held slot does not make room until it was released as often as it was held.
  void hold(std::int32_t slot) { ++slots_[static_cast<std::size_t>(slot)].held; }
  void release(std::int32_t slot) { --slots_[static_cast<std::size_t>(slot)].held; }

  // The step in progress.
  struct Now {
    std::size_t group = 0;      // that is computed
    std::int64_t n_tokens = 1;  // in the step
    bool certain = false;       // the experts are taken to be needed, however rare they are
  };
  // Gives slots to experts of a group, in their order, and appends the slots to `taken`. Stops
  // early if all slots are held or, for a group that is not computed now, if all experts in memory
  // are needed before the next one, unless `now` is certain. Does not allocate if `taken` has the
  // capacity. REQUIRES: the experts have no slots.
  void take(std::size_t group, std::span<const std::int32_t> experts, Now now,
            std::vector<std::int32_t>& taken);
  // Removes the expert from the slot.
  void vacate(std::int32_t slot);

  // A step of n_tokens tokens chose expert e counts[e] times.
  void count(std::size_t group, std::span<const std::int32_t> counts, std::int64_t n_tokens);
  // How often a token chooses the expert, 0..1.
  float frequency(std::size_t group, std::int64_t expert) const;
  void set_frequency(std::size_t group, std::int64_t expert, float frequency);

 private:
  struct Slot {
    Owner owner;
    std::int32_t held = 0;
  };
  struct Frequency {
    float fast = 0, slow = 0;
    float mean() const { return (fast + slow) / 2; }
  };
  struct Group {
    std::size_t slots = 0;  // index of the SlotClass
    std::vector<std::int32_t> slot_of;
    std::vector<Frequency> frequencies;
  };
  struct Victim {
    float needed_after = 0;  // steps
    std::int32_t slot = kNoSlot;
  };
  float needed_after(Owner owner, Now now) const;

  std::vector<Group> groups_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> first_;  // the first slot of each class, and the number of all slots
  std::vector<Victim> victims_;     // used by take()
};

}  // namespace weft::run
