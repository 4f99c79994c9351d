#pragma once
// The plans of a session and their bytes. Prediction (`weft plan`) and the session that allocates
// use the same code.

#include "weft/run/session.h"

#include "streaming/packed_file.h"
#include "streaming/residency.h"
#include "weights/weight_loader.h"

namespace weft::run {

// The context of a session without a requested one.
std::int64_t default_context(const Model& model);

// Replaces zeros and checks everything. Throws ValueError and UnsupportedError.
SessionOptions resolve(const Model& model, SessionOptions options);

// Tokens in a step of the draft layer.
inline constexpr std::int64_t kDraftWidth = 32;
// What a row of a table takes that steps read only some rows of, beside streamed weights: the
// system also maps the pages around it. The pages are released after the step with which at least
// prefill_width rows have been read.
inline constexpr std::int64_t kRowBytes = std::int64_t{64} << 10;
// The most tokens of a text that the model's encoder reads; 0 if it has none.
std::int64_t encoder_tokens(const Model& model, const SessionOptions& o);
// What a session keeps of its sequences beside the states of graphs: PerSequence::bytes() of all
// parties.
std::int64_t sequence_bytes(const Model& model, const SessionOptions& o);

// The states of all graphs in host memory, in the order in which Session lays them out, each
// aligned.
std::vector<const Node*> states_on_host(const std::vector<Graph>& graphs,
                                        const std::vector<Plan>& plans);
// REQUIRES: one of the graphs has the state.
const TensorSpec& state_spec(const std::vector<Graph>& graphs, const std::string& path);

// The memory of a session with these plans. REQUIRES: one plan per graph, at least one.
MemoryUse memory_use(const std::vector<Graph>& graphs, const std::vector<Plan>& plans,
                     const WeightLayout& weights, const Residency& residency);

// Plans every width class with weights of this mode, without regard to the budget.
PlannedModel plan_all(const Model& model, const SessionOptions& options, WeightMode weights);

// The weights of a planned session that could be streamed.
Streamable find_streamable(const Model& model, const PlannedModel& planned);

// Sets planned.memory.
void count_memory(const Model& model, PlannedModel& planned);

// The placement of a planned session's weights, which is the same for every width class.
WeightLayout layout_weights(const Model& model, const PlannedModel& planned);

// Whether weights are streamed from a packed file.
inline bool streams_packed(const SessionOptions& o) {
  return o.weights == WeightMode::streamed && !o.weight_cache.empty();
}
// REQUIRES: streams_packed() of its options.
PackedFile packed_file(const Model& model, const PlannedModel& planned);

// How a planned session loads them.
LoadOptions load_options(const Model& model, const PlannedModel& planned);

}  // namespace weft::run
