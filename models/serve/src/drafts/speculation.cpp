#include "weft/serve/speculation.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/random_id.h"
#include "weft/run/memory_plan.h"

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

void check_numbers(const SpeculationOptions& o) {
  if (o.max_guesses < 1 || o.max_guesses > kMaxGuesses)
    fail<ValueError>("a step has 1 to {} guesses of a text, got {}", kMaxGuesses, o.max_guesses);
  if (o.ngram_size < 1 || o.ngram_size > kMaxNgram)
    fail<ValueError>("a look-up compares 1 to {} tokens, got {}", kMaxNgram, o.ngram_size);
  if (o.n_sequences < 0) fail<ValueError>("drafts for {} sequences", o.n_sequences);
  if (!(o.p_min >= 0 && o.p_min <= 1))
    fail<ValueError>("`p_min` must be from 0 to 1, got {}", o.p_min);
}

// Every text keeps the logits after the guesses of a step.
std::int64_t bytes_of_rows(const Model& model, const SpeculationOptions& o,
                           const SessionOptions& texts) {
  if (o.kinds.empty()) return 0;
  const auto max = static_cast<std::int64_t>(o.max_guesses);
  const std::int64_t n_rows = std::min({1 + max, 1 + texts.rewind, texts.logits_rows});
  const std::int64_t n_texts = o.n_sequences > 0 ? o.n_sequences : texts.sequences;
  return n_texts * n_rows * model.facts().n_vocab * std::int64_t{sizeof(float)};
}

// Each of its tokens would cost more than one of the model.
bool is_larger(const Model& draft, const Model& model) {
  return draft.facts().weight_bytes > model.facts().weight_bytes;
}

// Whether there is room for the logits of guesses.
bool has_room(const Session& session, const SpeculationOptions& o) {
  const SessionOptions& texts = session.options();
  const std::int64_t used = session.memory().total() - texts.reserved;
  return texts.mem_budget == 0 ||
         used + bytes_of_rows(session.model(), o, texts) <= texts.mem_budget;
}

// Null, with a warning, if it cannot help.
std::shared_ptr<DraftModel> open_draft_model(const Session& session, const SpeculationOptions& o) {
  if (!o.draft_model)
    fail<ValueError>("drafts of kind '{}' need a draft model", to_string(DraftKind::model));
  const std::string& path = o.draft_model->file().path();
  const auto leave_out = [&](const std::string& why) {
    if (o.warn) o.warn(fmt::format("{}: no drafts by this model: {}", path, why));
    return nullptr;
  };
  check_drafts(session.model(), *o.draft_model);
  if (is_larger(*o.draft_model, session.model()))
    return leave_out(fmt::format("it has {} of weights, the model has {}",
                                 human_bytes(o.draft_model->facts().weight_bytes),
                                 human_bytes(session.model().facts().weight_bytes)));
  SessionOptions own = o.draft_session;
  own.reserved += bytes_of_rows(session.model(), o, session.options());
  if (!fits_budget(*o.draft_model, DraftModel::options_beside(session, own, o.n_sequences)))
    return leave_out("no room for its session in the memory budget");
  return std::make_shared<DraftModel>(session, o.draft_model, std::move(own), o.p_min,
                                      o.n_sequences);
}

}  // namespace

std::int64_t speculation_bytes(const Model& model, const SpeculationOptions& options,
                               const SessionOptions& texts) {
  const std::int64_t rows = bytes_of_rows(model, options, texts);
  if (!options.draft_model) return rows;
  check_drafts(model, *options.draft_model);
  if (is_larger(*options.draft_model, model)) return rows;
  SessionOptions of_draft =
      DraftModel::with_sequences_of(texts, options.draft_session, options.n_sequences);
  of_draft.mem_budget = std::numeric_limits<std::int64_t>::max();  // it concedes nothing, either
  return rows + plan_model(*options.draft_model, of_draft).memory.total();
}

void reserve_for_drafts(const Model& model, const SpeculationOptions& options,
                        SessionOptions& session) {
  if (options.kinds.empty()) return;
  const auto alone = plan_if_fits(model, session);
  if (!alone) return;
  SessionOptions both = session;
  both.reserved += speculation_bytes(model, options, alone->options);
  const auto beside = plan_if_fits(model, both);
  if (beside && beside->concessions == alone->concessions &&
      beside->options.weights == alone->options.weights)
    session.reserved = both.reserved;
}

Speculation::Speculation(Session& session, const SpeculationOptions& options) {
  check_numbers(options);
  const auto has = [&](DraftKind kind) {
    return std::ranges::find(options.kinds, kind) != options.kinds.end();
  };
  for (const DraftKind kind : {DraftKind::mtp, DraftKind::eagle3}) {
    const bool head = session.model().facts().draft_head;
    if (has(kind) && (!session.options().draft_layer || head != (kind == DraftKind::eagle3)))
      fail<ValueError>("drafts of kind '{}' need a session with such a layer", to_string(kind));
  }
  SpeculationOptions left = options;
  if (!has_room(session, options)) {
    if (options.warn) options.warn("no drafts: no room for their logits in the memory budget");
    left.kinds.clear();
  }
  std::shared_ptr<DraftModel> model;
  if (has(DraftKind::model) && !left.kinds.empty()) model = open_draft_model(session, options);
  if (!model) std::erase(left.kinds, DraftKind::model);
  shared_ = std::make_shared<serve::SharedDrafts>(session, left, std::move(model));
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

MemoryUse Speculation::memory() const {
  MemoryUse memory;
  if (shared_->model) {
    const Session& session = shared_->model->session();
    memory = session.memory();
    memory.other -= session.options().reserved;  // for the session of texts
  }
  const Session& texts = shared_->session;
  memory.other += bytes_of_rows(texts.model(), shared_->options, texts.options());
  return memory;
}

std::size_t Speculation::max_guesses() const {
  return shared_->options.max_guesses;
}

}  // namespace weft
