#include "weft/serve/speculation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/random_id.h"
#include "weft/serve/speculation_knobs.h"

#include "drafts/combined_draft.h"

namespace weft {
namespace {

bool has(const SpeculationOptions& o, DraftKind kind) {
  return std::ranges::find(o.kinds, kind) != o.kinds.end();
}

}  // namespace

std::optional<DraftKind> default_draft(bool draft_model, bool layer, const ModelFacts& facts) {
  if (draft_model) return DraftKind::model;
  if (!layer) return std::nullopt;
  return facts.draft_head ? DraftKind::eagle3 : DraftKind::mtp;
}

SessionOptions draft_session_like(const SessionOptions& texts) {
  SessionOptions like = texts;
  like.route.clear();
  like.cache_k = like.cache_v = {};
  if (like.expert_usage != "auto") like.expert_usage.clear();
  like.draft_layer = false;
  like.progress = {};
  return like;
}

DraftDemand draft_demand(const Model& model, const SpeculationOptions& options) {
  check_numbers(options);
  if (options.kinds.empty()) return {};
  DraftDemand demand{.max_guesses = static_cast<std::int64_t>(options.max_guesses),
                     .texts = options.n_sequences};
  if (!has(options, DraftKind::model)) return demand;
  if (!options.draft_model)
    fail<ValueError>("drafts of kind '{}' need a draft model", to_string(DraftKind::model));
  check_drafts(model, *options.draft_model);
  demand.model = options.draft_model;
  demand.session = options.draft_session;
  demand.only_model = options.kinds.size() == 1;
  return demand;
}

Speculation::Speculation(Session& session, const SpeculationOptions& options)
    : Speculation(session, options,
                  plan_drafts(session.model(), session.options(), session.memory(),
                              draft_demand(session.model(), options))) {}

Speculation::Speculation(Session& session, const SpeculationOptions& options, DraftOffer offer) {
  check_numbers(options);
  const DraftNeeds own = session.model().facts().draft_head ? DraftNeeds::head : DraftNeeds::layer;
  for (const DraftKind kind : options.kinds) {
    if (uses_draft_layer(kind) && (!session.options().draft_layer || needs_of(kind) != own))
      fail<ValueError>("drafts of kind '{}' need a session with such a layer", to_string(kind));
  }
  if (options.warn)
    for (const std::string& line : offer.left_out) options.warn(line);
  SpeculationOptions left = options;
  if (offer.guess_bytes == 0) left.kinds.clear();
  const MemoryUse memory = offer.memory();
  std::shared_ptr<DraftModel> model;
  if (offer.session)
    model = std::make_shared<DraftModel>(session, options.draft_model, *std::move(offer.session),
                                         options.p_min);
  if (!model) std::erase(left.kinds, DraftKind::model);
  shared_ = std::make_shared<serve::SharedDrafts>(session, left, std::move(model), memory);
}

std::shared_ptr<Draft> Speculation::draft(std::optional<std::string_view> owner) const {
  if (shared_->options.kinds.empty()) return nullptr;
  auto kept = owner ? shared_->kept.of(*owner)
                    : std::make_shared<serve::KeptTexts>(shared_->options.ngram_size);
  std::string name = owner ? std::string(*owner) : random_id("\n", 24);
  return std::make_shared<serve::CombinedDraft>(shared_, std::move(kept), std::move(name));
}

SpeculationCounters Speculation::counters() const {
  return shared_->all;
}

SpeculationCounters Speculation::counters(DraftKind kind) const {
  const auto& kinds = shared_->options.kinds;
  const auto found = std::ranges::find(kinds, kind);
  if (found == kinds.end()) return {};
  return shared_->of_kinds[static_cast<std::size_t>(found - kinds.begin())];
}

std::span<const DraftKind> Speculation::kinds() const {
  return shared_->options.kinds;
}

const MemoryUse& Speculation::memory() const {
  return shared_->memory;
}

std::size_t Speculation::max_guesses() const {
  return shared_->options.max_guesses;
}

}  // namespace weft
