#pragma once
// The plans of a session and their bytes: the same code serves prediction (`weft plan`) and the
// session that allocates.

#include "weft/run/session.h"

#include "weight_loader.h"

namespace weft::run {

// Bytes of all states of a graph that lie in the host's memory, each aligned. Session lays them out
// in this order.
std::int64_t state_bytes(const Graph& graph, const Plan& plan);

// Bytes that a session with these plans takes. REQUIRES: one plan per graph, at least one.
MemoryUse memory_use(const std::vector<Graph>& graphs, const std::vector<Plan>& plans,
                     const WeightLayout& weights);

// Where a planned session has its weights: the same for every width class.
WeightLayout layout_weights(const Model& model, const PlannedModel& planned);

// How a planned session brings them in.
LoadOptions load_options(const Model& model, const PlannedModel& planned);

}  // namespace weft::run
