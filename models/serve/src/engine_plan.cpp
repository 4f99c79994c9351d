// The memory of an engine: how much is given to prompts beside the slots.
#include <algorithm>

#include "weft/base/error.h"
#include "weft/ops/cache_cells.h"

#include "engine_impl.h"

namespace weft::serve {
namespace {

// Prompts kept beside the slots. They share blocks with the slots that they were copied from.
constexpr std::int32_t kMaxKept = 16;
// Rows of logits in a step, if it is wide enough; more than texts need, for logprobs of prompts.
constexpr std::int32_t kLogitsRows = 32;

// What one block of cells costs in all layers, and what every sequence costs in addition: windows
// and recurrent states.
struct StateBytes {
  std::int64_t block = 0, sequence = 0;
};

StateBytes state_bytes(const PlannedModel& planned) {
  StateBytes bytes;
  for (const MemoryPart& part : planned.memory_parts) {
    if (part.of != MemoryOf::sequence) continue;
    std::int64_t row = 0;
    for (const std::string& path : part.states) {
      for (const Graph& graph : planned.graphs) {
        const NodeId id = graph.find(path);
        if (id == kNoNode) continue;
        row += graph[id].spec.row_bytes();
        break;
      }
    }
    if (part.kind == "cells" && part.window == 0)
      bytes.block += row;
    else
      bytes.sequence +=
          row * ((part.n_rows + planned.options.sequences - 1) / planned.options.sequences);
  }
  return bytes;
}

// A quarter of what is free, and at most as much as the slots have. Leaves as much as a session
// wants to leave free beside resident weights.
std::int64_t default_bytes(const PlannedModel& planned) {
  if (!planned.concessions.empty()) return 0;
  const std::int64_t free = planned.options.mem_budget - planned.memory.total();
  const std::int64_t spare = planned.memory.weights_resident / 16;
  return std::clamp<std::int64_t>((free - spare) / 4, 0, planned.memory.state);
}

}  // namespace

EnginePlan plan_engine(const Model& model, const EngineOptions& o) {
  if (o.slots < 1) fail<ValueError>("an engine needs at least 1 slot, got {}", o.slots);
  if (o.max_waiting < 0) fail<ValueError>("the queue cannot hold {} requests", o.max_waiting);
  if (o.prompt_tokens_per_step < 0)
    fail<ValueError>("a step cannot have {} tokens of prompts", o.prompt_tokens_per_step);
  EnginePlan plan{o.session};
  SessionOptions& s = plan.session;
  s.sequences = o.slots;
  if (!model.facts().gives_text()) {  // it only gives embeddings, from another session
    s.embeddings = true;
    s.context = s.prefill_width = s.logits_rows = 1;
    s.cells = 0;
    return plan;
  }
  s.logits_rows = std::min<std::int64_t>(std::max(o.slots, kLogitsRows), s.prefill_width);
  if (o.kept_prompts_bytes == 0 || model.facts().encodes) return plan;

  const PlannedModel planned = plan_model(model, s);
  const StateBytes bytes = state_bytes(planned);
  const bool by_default = o.kept_prompts_bytes < 0;
  const std::int64_t all = by_default ? default_bytes(planned) : o.kept_prompts_bytes;
  if (all == 0) return plan;
  // Half of the bytes for what every sequence costs; the rest for cells.
  plan.n_kept =
      bytes.sequence == 0
          ? kMaxKept
          : static_cast<std::int32_t>(std::min<std::int64_t>(kMaxKept, all / 2 / bytes.sequence));
  if (plan.n_kept == 0) return plan;
  const std::int64_t blocks_of_slots =
      s.cells > 0 ? blocks_for(s.cells) : o.slots * blocks_for(planned.options.context);
  const std::int64_t left = std::max<std::int64_t>(0, all - plan.n_kept * bytes.sequence);
  const std::int64_t more = bytes.block > 0 ? left / bytes.block : 0;
  const std::int64_t useful = plan.n_kept * blocks_for(planned.options.context);
  if (bytes.block > 0) s.cells = kCellsPerBlock * (blocks_of_slots + std::min(more, useful));
  s.sequences += plan.n_kept;
  return plan;
}

}  // namespace weft::serve
