#pragma once
// Chooses the residency of a session's weights.

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/files/checkpoint.h"
#include "weft/graph/graph.h"
#include "weft/run/residency.h"
#include "weft/scheduler/plan.h"
#include "weft/scheduler/routing.h"

namespace weft::run {

// The weights that could be read from disk while steps run.
struct Streamable {
  // Those that every step reads as a whole, in one stage. In the order of stages, which is the same
  // in all plans.
  struct Whole {
    std::string path;
    std::int64_t bytes = 0;
    std::int64_t place = 0;            // bytes that reading it needs
    std::vector<std::int32_t> stages;  // by plan of steps
  };
  std::vector<Whole> whole;
  Residency experts;  // the groups, and slots for the experts that are needed at the same time
};

// `graphs` and `plans` of steps come first, `n_steps` of them; the others belong to an encoder or a
// draft layer, whose own weights are not streamed as a whole.
// Weights that devices read are not streamed, and experts only if all kernels page them.
Streamable find_streamable(const Checkpoint& file, std::span<const Graph> graphs,
                           std::span<const Plan> plans, std::span<const Assignment> assignments,
                           std::size_t n_steps);

// The residency that keeps as much as possible in `bytes`, those of weights that are then in memory
// all the time included: all weights that are read as a whole if the experts leave room for them,
// else some, evenly distributed over the stages; the rest is for the cache of experts. nullopt if
// even the smallest does not fit.
std::optional<Residency> residency_within(const Streamable& weights, std::int64_t bytes);

// The names of weights that it streams, experts included. They refer to `residency`.
std::set<std::string_view> streamed_paths(const Residency& residency);

// The one that needs the fewest bytes.
Residency smallest_residency(const Streamable& weights);

}  // namespace weft::run
