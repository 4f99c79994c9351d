#include "plan/draft_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "weft/base/human_numbers.h"

#include "plan/session_attempt.h"

namespace weft {
namespace {

using namespace run;

// Every text keeps the logits after the guesses of a step.
std::int64_t bytes_of_guesses(const Model& model, const SessionOptions& texts,
                              const DraftDemand& demand) {
  if (demand.max_guesses == 0) return 0;
  const std::int64_t n_rows =
      std::min({1 + demand.max_guesses, 1 + texts.rewind, texts.logits_rows});
  const std::int64_t n_texts = demand.texts > 0 ? demand.texts : texts.sequences;
  return n_texts * n_rows * model.facts().n_vocab * std::int64_t{sizeof(float)};
}

// Each of its tokens would cost more than one of the model.
bool is_larger(const Model& draft, const Model& model) {
  return draft.facts().weight_bytes > model.facts().weight_bytes;
}

// What concerns sequences is that of the texts.
SessionOptions draft_session(const SessionOptions& texts, const DraftDemand& demand) {
  SessionOptions options = demand.session;
  options.context = texts.context;
  options.sequences = demand.texts > 0 ? demand.texts : texts.sequences;
  options.cells = 0;  // sequences do not share them: texts that ended would keep theirs
  options.kept = 0;
  options.prefill_width = texts.prefill_width;
  options.logits_rows = 1;
  options.embeddings = false;
  options.draft_layer = false;
  options.rewind = 0;
  options.reserved = 0;  // the caller's bytes are part of what the session of texts uses
  if (options.program == ProgramMemory::process) options.program = ProgramMemory::model;
  // Both sessions would write their usage into it.
  if (options.expert_usage == texts.expert_usage && options.expert_usage != "auto")
    options.expert_usage.clear();
  return options;
}

// The plan of the draft model's session within what is left of the budget.
std::optional<PlannedModel> plan_within(const Model& draft, SessionOptions options,
                                        const SessionOptions& texts, std::int64_t used,
                                        std::optional<PlannedModel> alone) {
  options.reserved += used;
  if (options.mem_budget == 0 || (texts.mem_budget > 0 && texts.mem_budget < options.mem_budget))
    options.mem_budget = texts.mem_budget;
  if (alone && alone->memory.total() + used + headroom_bytes(*alone) <= options.mem_budget) {
    alone->options.reserved = options.reserved;
    alone->options.mem_budget = options.mem_budget;
    alone->memory.other += used;
    return alone;
  }
  return plan_if_fits(draft, options);
}

}  // namespace

std::int64_t run::wanted_by_drafts(const Model& model, const SessionOptions& texts,
                                   const DraftDemand& demand, std::optional<PlannedModel>& alone) {
  const std::int64_t guesses = bytes_of_guesses(model, texts, demand);
  if (guesses == 0 || !demand.model || is_larger(*demand.model, model)) return guesses;
  SessionOptions options = draft_session(texts, demand);
  options.mem_budget = std::numeric_limits<std::int64_t>::max();  // it concedes nothing, either
  alone = plan_model(*demand.model, options);
  return guesses + alone->memory.total();
}

DraftOffer run::plan_drafts(const Model& model, const SessionOptions& texts, const MemoryUse& use,
                            const DraftDemand& demand, std::int64_t reserved,
                            std::optional<PlannedModel> alone) {
  DraftOffer offer{.reserved = reserved};
  const std::int64_t guesses = bytes_of_guesses(model, texts, demand);
  if (guesses == 0) return offer;
  const std::int64_t used = use.total() - reserved;
  if (texts.mem_budget > 0 && used + guesses > texts.mem_budget) {
    offer.left_out.push_back("no drafts: no room for their logits in the memory budget");
    return offer;
  }
  offer.guess_bytes = guesses;
  if (!demand.model) return offer;
  const auto leave_out = [&](const std::string& why) {
    if (demand.only_model) offer.guess_bytes = 0;
    offer.left_out.push_back(
        fmt::format("{}: no drafts by this model: {}", demand.model->file().path(), why));
  };
  if (is_larger(*demand.model, model)) {
    leave_out(fmt::format("it has {} of weights, the model has {}",
                          human_bytes(demand.model->facts().weight_bytes),
                          human_bytes(model.facts().weight_bytes)));
    return offer;
  }
  offer.session = plan_within(*demand.model, draft_session(texts, demand), texts, used + guesses,
                              std::move(alone));
  if (!offer.session) leave_out("no room for its session in the memory budget");
  return offer;
}

DraftOffer plan_drafts(const Model& model, const SessionOptions& texts, const MemoryUse& use,
                       const DraftDemand& demand) {
  return run::plan_drafts(model, texts, use, demand, 0, std::nullopt);
}

MemoryUse DraftOffer::memory() const {
  MemoryUse use;
  if (session) {
    use = session->memory;
    use.other -= session->options.reserved;  // for the session of texts
  }
  use.other += guess_bytes;
  return use;
}

MemoryUse MemoryOffer::memory() const {
  MemoryUse use = planned.memory;
  use.other -= drafts.reserved;
  use += drafts.memory();
  return use;
}

std::int64_t budget_beside(std::int64_t budget, std::span<const MemoryUse> sessions) {
  for (const MemoryUse& use : sessions)
    budget -= use.total() - use.weights_resident - use.weights_mapped - use.program;
  return budget;
}

}  // namespace weft
