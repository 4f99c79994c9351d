#pragma once
// Which experts are in which slots, and which one makes room for another. Knows no files and no
// threads: the caller holds a lock.
//
// A slot makes room whose expert is expected to be needed last. Tokens chose expert e with a
// frequency p, which follows the last tokens quickly and slowly; a step of T tokens then needs it
// with min(1, T p), so it is needed again after the rest of the way round the layers, and 1 / that
// - 1 further steps. Decoding thus keeps what is chosen often, and wide steps, which need all
// experts, keep the layers that come next.

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

  // Held slots do not make room. Counted.
  void hold(std::int32_t slot) { ++slots_[static_cast<std::size_t>(slot)].held; }
  void release(std::int32_t slot) { --slots_[static_cast<std::size_t>(slot)].held; }

  // Where a step of n_tokens tokens is: it computes group `group`.
  struct Now {
    std::size_t group = 0;
    std::int64_t n_tokens = 1;
  };
  // Gives slots to experts of a group that have none, in their order, and appends the slots to
  // `taken`. Stops early if no slot can make room; for experts of another group than the one that
  // is computed now also if none holds an expert that is needed later than they are. Does not
  // allocate if `taken` has the capacity.
  void take(std::size_t group, std::span<const std::int32_t> experts, Now now,
            std::vector<std::int32_t>& taken);
  // Takes the expert out of the slot.
  void empty(std::int32_t slot);

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
    std::size_t slots = 0;  // class
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
  std::vector<std::size_t> first_;  // slot of each class, and the end
  std::vector<Victim> victims_;     // of take()
};

}  // namespace weft::run
