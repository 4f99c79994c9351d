#pragma once
// The one accountant of a model's memory. A program says what it wants and what it could do
// without; it gets the plan of a session within the budget, and a line for each thing that it does
// without. Nothing is loaded or allocated: `weft plan` prints what a session has, or an engine
// (--server), and /props what an engine got.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/run/session.h"

namespace weft {

// What a program can do without if the budget requires it, in this order. Sessions give up wide
// steps and the type of the cache in any case, unless it was asked for.
struct MemoryConcessions {
  // The slots may be halved down to this number; 0: they are fixed.
  std::int32_t min_slots = 0;
  // Contexts may be halved down to this length; 0: they are fixed.
  std::int64_t min_context = 0;
  // All slots together have a fixed number of tokens: fewer slots have longer contexts.
  bool fixed_total = false;
  // Slots may share fewer cells than their contexts have together, if that leaves room for resident
  // weights: slots rarely need their whole contexts at once.
  bool share_cells = false;
};

struct MemoryDemand {
  // Of the session. `context` is what one slot may have; `sequences` is set by the planner;
  // `mem_budget` covers everything, also `program` and `used`; 0: default_budget(), which does not.
  SessionOptions session = {};
  std::int32_t slots = 1;  // sequences that are computed at the same time
  MemoryConcessions may_give_up = {};
  // For sequences beside the slots, whose prompts can be reused. 0: none. -1: a share of what the
  // budget leaves.
  std::int64_t kept_bytes = 0;
  std::int64_t program =
      0;                  // bytes that plans do not count; at most 1/16 of the budget is set aside
  std::int64_t used = 0;  // bytes of the budget that others have
};

struct MemoryOffer {
  PlannedModel planned;  // its options have slots + n_kept sequences
  std::int32_t slots = 1;
  std::int32_t n_kept = 0;  // sequences beside the slots
  // Everything that was given up, in order: also PlannedModel::concessions.
  std::vector<std::string> concessions;
};

// Whether plan_model() has a plan within the budget. Throws like it, except for BudgetError.
bool fits_budget(const Model& model, const SessionOptions& options);

// What the budget leaves for sessions; 0 if none was given. Throws BudgetError if that is nothing.
std::int64_t session_budget(const MemoryDemand& demand);

// As many slots, with as much context, as leave room for steps that are not very narrow; else as
// fit at all. Throws BudgetError, which says what was wanted and the most that fits, if even the
// smallest demand does not; and like plan_model().
MemoryOffer plan_memory(const Model& model, const MemoryDemand& demand);

}  // namespace weft
