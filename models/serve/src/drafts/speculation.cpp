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

struct NamedKind {
  DraftKind kind;
  std::string_view name;
};
constexpr std::array kNames{NamedKind{DraftKind::model, "draft"},
                            NamedKind{DraftKind::mtp, "draft-mtp"},
                            NamedKind{DraftKind::eagle3, "draft-eagle3"},
                            NamedKind{DraftKind::ngram_simple, "ngram-simple"}};
constexpr auto kKinds = [] {
  std::array<DraftKind, kNames.size()> kinds{};
  std::ranges::transform(kNames, kinds.begin(), &NamedKind::kind);
  return kinds;
}();

}  // namespace

std::span<const DraftKind> draft_kinds() {
  return kKinds;
}

std::string_view to_string(DraftKind kind) {
  return std::ranges::find(kNames, kind, &NamedKind::kind)->name;
}

DraftKind draft_kind(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, &NamedKind::name);
  if (found != kNames.end()) return found->kind;
  std::string known;
  for (const NamedKind& k : kNames) known.append(known.empty() ? "" : ", ").append(k.name);
  fail<ValueError>("unknown kind of draft '{}'; known: {}", name, known);
}

std::vector<DraftKind> draft_kinds_in(std::string_view list) {
  std::vector<DraftKind> kinds;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view name = list.substr(at, end - at);
    if (name != "none") kinds.push_back(draft_kind(name == "draft-simple" ? "draft" : name));
    at = end + 1;
  }
  return kinds;
}

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
  for (const DraftKind kind : {DraftKind::mtp, DraftKind::eagle3}) {
    const bool head = session.model().facts().draft_head;
    if (has(options, kind) &&
        (!session.options().draft_layer || head != (kind == DraftKind::eagle3)))
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
