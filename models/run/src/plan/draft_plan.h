#pragma once
// The memory of drafts beside a session of texts.

#include "weft/run/memory_plan.h"

namespace weft::run {

// What all drafts would take beside a session with these options, which are resolved, without a
// budget. `alone` is set to the plan of the draft model's session, if there is one.
std::int64_t wanted_by_drafts(const Model& model, const SessionOptions& texts,
                              const DraftDemand& demand, std::optional<PlannedModel>& alone);

// As weft::plan_drafts(), with that plan. `reserved`: how much of SessionOptions::reserved of the
// texts is for drafts.
DraftOffer plan_drafts(const Model& model, const SessionOptions& texts, const MemoryUse& use,
                       const DraftDemand& demand, std::int64_t reserved,
                       std::optional<PlannedModel> alone);

}  // namespace weft::run
