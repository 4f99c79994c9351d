#pragma once
// The plans of a session and their bytes. Prediction (`weft plan`) and the session that allocates
// use the same code.

#include "weft/run/session.h"

#include "weight_loader.h"

namespace weft::run {

// Bytes of all states of a graph in host memory, each aligned. Session lays them out in this order.
std::int64_t state_bytes(const Graph& graph, const Plan& plan);

// The memory of a session with these plans. REQUIRES: one plan per graph, at least one.
MemoryUse memory_use(const std::vector<Graph>& graphs, const std::vector<Plan>& plans,
                     const WeightLayout& weights);

// The placement of a planned session's weights, which is the same for every width class.
WeightLayout layout_weights(const Model& model, const PlannedModel& planned);

// How a planned session loads them.
LoadOptions load_options(const Model& model, const PlannedModel& planned);

}  // namespace weft::run
