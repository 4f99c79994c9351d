#pragma once
// One session within a budget: the order of its concessions.

#include <functional>

#include "weft/run/session.h"

namespace weft::run {

struct SessionAttempt {
  PlannedModel planned;  // if it does not fit: with everything given up that can be
  bool fits = false;
};

// Tables are left to the system, steps become narrower, the cache becomes Q8_0; and weights are
// resident if they then leave headroom_bytes() of the budget free. Throws ValueError and
// UnsupportedError for options that no budget helps.
// Unless `may_read_weights`, plans do not fit whose steps read weights from disk and that were not
// requested: streamed ones, and mapped ones that the system has to evict.
SessionAttempt attempt_session(const Model& model, const SessionOptions& options,
                               bool may_read_weights = true);

// Whether the plan still fits, with nothing more given up, when `bytes` more are reserved.
// False for streamed weights, which use all that the budget leaves.
bool can_reserve(const PlannedModel& planned, std::int64_t bytes);

// The budget of a program that leaves this many bytes to its session.
using BudgetOf = std::function<std::int64_t(std::int64_t session)>;

// Throws BudgetError: the bytes that a plan needs, if it does not fit, and the longest context of
// one sequence that would fit, or the least bytes that the model needs. All bytes are budgets of
// the program.
[[noreturn]] void refuse_session(const Model& model, const PlannedModel& planned,
                                 const BudgetOf& budget_of);

// How much of the budget resident weights leave free unless they were requested: the program itself
// needs memory, and private pages cannot be evicted. For small models a fraction of their size is
// enough.
std::int64_t headroom_bytes(const PlannedModel& planned);

}  // namespace weft::run
