#pragma once
// Chooses the residency of a session's weights.

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/run/residency.h"
#include "weft/scheduler/plan.h"
#include "weft/scheduler/routing.h"

#include "streaming/weight_files.h"

namespace weft::run {

// The weights that could be read from disk while steps run.
struct Streamable {
  // A weight that every step reads as a whole, in one stage.
  struct Whole {
    std::string path;
    std::int64_t bytes = 0;
    std::int64_t place = 0;            // bytes of its place in the ring
    std::vector<std::int32_t> stages;  // by plan of steps
  };
  std::vector<Whole> whole;  // in the order of stages, which is the same in all plans
  Residency experts;         // all groups, and slots for the experts needed at the same time
};

// The first `n_steps` of `graphs` and `plans` are those of steps. The others belong to an encoder
// or a draft layer, and weights that these read are not streamed as a whole. Weights that devices
// read are not streamed, and experts only if all their kernels can wait for rows (PagedRows).
Streamable find_streamable(const WeightFiles& files, std::span<const Graph> graphs,
                           std::span<const Plan> plans, std::span<const Assignment> assignments,
                           std::size_t n_steps);

// The residency that keeps as much as possible in `bytes`, which include the weights that are then
// in memory all the time. If the smallest cache of experts leaves room for all weights that are
// read as a whole, these stay in memory, and the cache gets the rest. Otherwise some of them stay,
// evenly distributed over the stages. nullopt if not even the smallest residency fits.
std::optional<Residency> residency_within(const Streamable& weights, std::int64_t bytes);

// The names of the weights that it streams, experts included. They are views into `residency`.
std::set<std::string_view> streamed_paths(const Residency& residency);

// The residency that needs the fewest bytes.
Residency smallest_residency(const Streamable& weights);

}  // namespace weft::run
