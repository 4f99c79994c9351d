#pragma once
// Sums up the times of profiled steps by plan and node.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/run/session.h"
#include "weft/scheduler/profiled_plan.h"
#include "weft/scheduler/profiler.h"

namespace weft {

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

// What was measured about the plans of a session.
struct ProfileFile {
  std::string model, weights, backend, route;
  std::string isa;  // the cpu backend's: "avx2"
  std::int64_t context = 0;
  int workers = 0;
  std::vector<ProfiledPlan> plans;
};

std::string to_json(const ProfileFile& profile);

// The instruction set of the cpu backend as `--backend cpu:NAME` takes it.
std::string cpu_isa_name();

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

}  // namespace weft
