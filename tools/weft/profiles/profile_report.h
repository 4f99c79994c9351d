#pragma once
// Where the time of steps went, node by node: the report of `weft profile`.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/measure/bench.h"

#include "reports/kept_limits.h"

namespace weft::tools {

// A node, or the same node of several layers.
struct ProfileRow {
  std::string path;  // "blk.*.attn_qkv" if layers are folded
  std::string op, kernel;
  std::int64_t nodes = 0;  // nodes of the row, per step
  double busy_ns = 0;      // time of all workers together, in all steps of the phase
  bench::Work work;        // likewise

  void divide(double n);  // makes the mean of n repetitions of their sum
};

struct PhaseProfile {
  bench::Test test;
  int workers = 0;
  // All that follows is for one repetition: means of the repetitions.
  std::int64_t steps = 0;
  std::int64_t step_nodes = 0;      // nodes of the plan of the first step
  double wall_ns = 0;               // time of all steps
  double plain_ns = 0;              // time of steps without the profiler
  double plain_median_ns = 0;       // median time of a step without the profiler
  double overhead = 0;              // overhead of the profiler, as a share of a step
  std::vector<double> busy_ns;      // by worker
  double joins = 0;                 // joins of all steps
  std::int64_t dropped = 0;         // calls that were not recorded
  std::vector<ProfileRow> rows;     // in any order
  StreamStats stream;               // in all repetitions, if weights are streamed
  double stream_wall_ns = 0;        // time of all repetitions
  std::vector<std::string> groups;  // a name for each group of experts

  double time_ns(const ProfileRow& row) const { return row.busy_ns / workers; }
  // The time without computing: waiting for each other, and the time between steps.
  double waiting_ns() const;
};

// The minimum time that the limits allow for the work of a row; 0 if no limit is known.
double min_ns(const ProfileRow& row, const MachineLimits& limits);

// Sorted by the possible gain: time beyond min_ns(). At most `top` rows; 0: all.
std::string to_text(const PhaseProfile& profile, const MachineLimits& limits, std::size_t top);
// `about`: a JSON object, the plans and their nodes (weft/measure/profile_times.h).
// `rank`: whose times these are, for example "rank 0 of 2 (tp=2)"; "": the model is not divided.
std::string to_json(const std::vector<PhaseProfile>& profiles, const MachineLimits& limits,
                    const std::string& about, const std::string& rank);

}  // namespace weft::tools
