#pragma once
// The one accountant of a model's memory. A program states its demand and the concessions that it
// can make; it gets the plan of a session within the budget, and a line for each concession that
// was made. Nothing is loaded or allocated: `weft plan` prints the plan of a session, or of an
// engine (--server), and /props that of a running engine.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/run/session.h"

namespace weft {

// The concessions that a program can make if the budget requires them, in this order. Sessions may
// always give up wide steps, and the type of the cache unless it was requested.
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

// The drafts of a program's texts (weft/serve/speculation.h), as far as they take memory.
struct DraftDemand {
  std::int64_t max_guesses = 0;  // in a step of a text; 0: there are no drafts
  std::int32_t texts = 0;        // sequences that have texts; 0: all of the session
  // A draft model; null: none. Of the options of its session, those that concern sequences are
  // replaced by those of the session of texts.
  std::shared_ptr<const Model> model = {};
  SessionOptions session = {};
  bool only_model = false;  // nobody else guesses: without the model, there are no drafts
};

struct MemoryDemand {
  // The options of the session. `context` is the maximum of one slot; `sequences` is set by the
  // planner; `mem_budget` covers everything, also `used`; 0: default_budget(), which does not.
  SessionOptions session = {};
  std::int32_t slots = 1;  // sequences that are computed at the same time
  MemoryConcessions may_give_up = {};
  // For sequences beside the slots, whose prompts can be reused. 0: none. -1: a share of the
  // remaining budget.
  std::int64_t kept_bytes = 0;
  // States of recurrent models that are kept for mark() alone, where there are no kept prompts.
  // None if anything else would have to give way.
  std::int32_t marked_states = 0;
  std::int64_t used = 0;      // bytes of the budget that others have
  std::int64_t requests = 0;  // bytes of the program beside its sessions
  DraftDemand drafts = {};
};

// The drafts that fit beside a session of texts.
struct DraftOffer {
  std::int64_t guess_bytes = 0;         // logits after guesses; 0: there are no drafts
  std::optional<PlannedModel> session;  // the draft model's; none: no model drafts
  std::vector<std::string> left_out;    // a line about each thing that does not fit
  // How much of SessionOptions::reserved of the session of texts is for drafts.
  std::int64_t reserved = 0;

  MemoryUse memory() const;  // what drafts take, beside the session of texts
};

struct MemoryOffer {
  PlannedModel planned;  // its options have slots + n_kept sequences
  std::int32_t slots = 1;
  std::int32_t n_kept = 0;  // sequences beside the slots
  // Everything that was given up, in order: also PlannedModel::concessions.
  std::vector<std::string> concessions;
  DraftOffer drafts;
  // The part of MemoryUse::other that is MemoryDemand::requests; 0 without a budget.
  std::int64_t requests = 0;

  MemoryUse memory() const;  // everything: that of the session, and that of drafts
};

// The plan of plan_model(), or none if it would throw BudgetError. Throws like it otherwise.
std::optional<PlannedModel> plan_if_fits(const Model& model, const SessionOptions& options);
bool fits_budget(const Model& model, const SessionOptions& options);  // whether there is one

// The plan to look at, not to run: as plan_model(), but without a budget in the options, a plan
// that does not fit into memory is not refused.
PlannedModel plan_to_look_at(const Model& model, SessionOptions options);

// The part of the budget that is left for sessions; 0 if no budget was given. Throws BudgetError if
// nothing is left.
std::int64_t session_budget(const MemoryDemand& demand);

// The most slots and context that leave room for steps that are not very narrow; else the most that
// fit at all. Drafts get room before the session takes what is left of the budget, unless it would
// have to concede something for them: a text must not change. Throws BudgetError, which states the
// demand and the most that fits, if even the smallest demand does not fit; and like plan_model().
MemoryOffer plan_memory(const Model& model, const MemoryDemand& demand);
// The offer of plan_memory(), or none if it would throw BudgetError. Throws like it otherwise.
std::optional<MemoryOffer> plan_if_fits(const Model& model, const MemoryDemand& demand);

// The drafts that fit beside a session of texts, planned or open. `texts`: its resolved options.
// `use`: its memory, with SessionOptions::reserved, none of which is for drafts. Throws like
// plan_model(), except for BudgetError.
DraftOffer plan_drafts(const Model& model, const SessionOptions& texts, const MemoryUse& use,
                       const DraftDemand& demand);

// How often this process has planned all graphs of a model, which takes most of the time of the
// functions above. For tests.
std::int64_t model_plannings();

// What open sessions of a model leave of a budget to another one of the same model. All of them
// count its weights and vocabulary, which they share.
std::int64_t budget_beside(std::int64_t budget, std::span<const MemoryUse> sessions);

}  // namespace weft
