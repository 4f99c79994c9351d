#pragma once
// Profiles the steps of an engine in which watched requests take part. Other steps have no
// overhead.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/run/session.h"
#include "weft/scheduler/profiler.h"

namespace weft::serve {

struct EngineSlot;

// Owned by the engine's thread, which also calls the watchers from here. Invariant: between begin()
// and notify_watchers(), the profiler has the calls of that step alone.
class StepProfile {
 public:
  explicit StepProfile(const Session& session) : session_(session) {}

  // The observer for a step of the texts in these slots; null if nobody watches it.
  NodeObserver* begin(std::span<EngineSlot* const> slots);
  // The step is complete. REQUIRES: begin() returned an observer for the same slots, and none of
  // their texts has ended.
  void notify_watchers(std::span<EngineSlot* const> slots);

 private:
  const Session& session_;
  std::unique_ptr<Profiler> profiler_;        // null until a step is watched
  std::vector<std::int64_t> lengths_before_;  // tokens that each text held before the step
  std::int64_t begin_ns_ = 0;
};

}  // namespace weft::serve
