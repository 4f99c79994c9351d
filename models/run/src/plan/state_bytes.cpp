#include "plan/state_bytes.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/backends/memory.h"
#include "weft/ops/attention/cache_cells.h"

#include "plan/session_plan.h"

namespace weft::run {
namespace {

std::string kind_of(const arch::MemoryPart& part) {
  if (part.of == arch::MemoryOf::text) return "text that is read";
  if (part.of == arch::MemoryOf::encoded) return "encoded texts";
  if (part.of == arch::MemoryOf::drafts) return "draft layer";
  if (part.window > 0) return fmt::format("last {} tokens", part.window);
  if (part.stride > 1) return fmt::format("every {} tokens", part.stride);
  if (part.checkpoint_every > 0) return "recurrent states";
  return part.grow_with == arch::RowsGrowWith::cells ? "all tokens" : std::string(part.kind);
}

void add(std::string name, std::int64_t bytes, std::vector<MemoryUse::Named>& kinds) {
  const auto known = std::ranges::find(kinds, name, &MemoryUse::Named::name);
  if (known != kinds.end())
    known->bytes += bytes;
  else
    kinds.push_back({std::move(name), bytes});
}

}  // namespace

StateBytes state_bytes(const PlannedModel& planned) {
  StateBytes bytes;
  const SessionOptions& o = planned.options;
  const std::int64_t n = o.sequences;
  const std::vector<const Node*> states = states_on_host(planned.graphs, planned.plans);
  for (const arch::MemoryPart& part : planned.memory_parts) {
    std::int64_t row = 0;
    for (const Node* state : states)
      if (std::ranges::find(part.states, state->path) != part.states.end())
        row += state->spec.row_bytes();
    const bool is_kept = part.of == arch::MemoryOf::sequence || part.of == arch::MemoryOf::drafts;
    if (is_kept && part.kind == "cells" && part.grow_with != arch::RowsGrowWith::nothing)
      bytes.kept_block += row / part.stride, bytes.kept_sequence += part.stride > 1 ? row : 0;
    if (is_kept && part.kind == "rows")
      bytes.kept_block += row * kCellsPerBlock / part.lasting_every, bytes.kept_sequence += row;
    if (part.of == arch::MemoryOf::text || part.grow_with == arch::RowsGrowWith::nothing)
      bytes.fixed += row * part.n_rows;
    else if ((part.of == arch::MemoryOf::sequence || part.of == arch::MemoryOf::drafts) &&
             part.grow_with == arch::RowsGrowWith::cells)
      bytes.block += row / part.stride;
    else
      bytes.sequence += row * ((part.n_rows - part.kept_rows + n - 1) / n);
  }
  return bytes;
}

std::vector<MemoryUse::Named> states_by_kind(const PlannedModel& planned) {
  std::vector<MemoryUse::Named> kinds;
  for (const Node* state : states_on_host(planned.graphs, planned.plans)) {
    const auto part = std::ranges::find_if(planned.memory_parts, [&](const arch::MemoryPart& p) {
      return std::ranges::find(p.states, state->path) != p.states.end();
    });
    add(part == planned.memory_parts.end() ? "other" : kind_of(*part),
        align_up(state->spec.bytes()), kinds);
  }
  std::ranges::stable_sort(kinds, std::greater{}, &MemoryUse::Named::bytes);
  return kinds;
}

}  // namespace weft::run
