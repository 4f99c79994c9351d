#pragma once
// Sums up the times of profiled steps by plan and node.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/run/session.h"
#include "weft/scheduler/profiler.h"

#include "profiles/profile_file.h"

namespace weft::tools {

// The place of a PlanStep among a session's plans.
struct PlaceOfStep {
  std::size_t plan = 0, step = 0;
  auto operator<=>(const PlaceOfStep&) const = default;
};
// Throws Error if it belongs to none of them.
PlaceOfStep find_step(const Session& session, const PlanStep* step);

// A step of the session. `depth`: the tokens before it.
struct ProfiledStep {
  std::int64_t depth = 0, n_tokens = 0, begin_ns = 0, end_ns = 0;
  double ns() const { return static_cast<double>(end_ns - begin_ns); }
};

class PlanTimes {
 public:
  explicit PlanTimes(const Session& session);  // the session outlives it

  // `profiler` has the calls of these steps.
  void add(const Profiler& profiler, std::span<const ProfiledStep> steps);
  // Means of the steps, of plans that had any.
  ProfileFile file() const;

 private:
  const Session& session_;
  std::vector<ProfiledPlan> plans_;
};

}  // namespace weft::tools
