#include "weft/serve/speculation.h"

#include <algorithm>
#include <array>

#include "weft/base/error.h"
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
  const auto check = [](std::size_t n, const char* what) {
    if (n < 1 || n > kMostGuesses)
      fail<ValueError>("drafts need 1 to {} {}, got {}", kMostGuesses, what, n);
  };
  check(o.max_guesses, "guesses in a step");
  check(o.ngram_size, "tokens for a look-up");
  if (!(o.p_min >= 0 && o.p_min <= 1))
    fail<ValueError>("`p_min` must be from 0 to 1, got {}", o.p_min);
}

// Every text keeps the logits after the guesses of a step.
std::int64_t bytes_of_rows(const Model& model, const SpeculationOptions& o,
                           const SessionOptions& texts) {
  if (o.kinds.empty()) return 0;
  const auto most = static_cast<std::int64_t>(o.max_guesses);
  const std::int64_t n_rows = std::min({1 + most, 1 + texts.rewind, texts.logits_rows});
  const std::int64_t n_texts = o.n_sequences > 0 ? o.n_sequences : texts.sequences;
  return n_texts * n_rows * model.facts().n_vocab * std::int64_t{sizeof(float)};
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
  const std::int64_t theirs = o.draft_model->facts().weight_bytes;
  const std::int64_t ours = session.model().facts().weight_bytes;
  if (theirs > ours)
    return leave_out(fmt::format("it has {} of weights, the model has {}", human_bytes(theirs),
                                 human_bytes(ours)));
  if (!fits_budget(*o.draft_model,
                   DraftModel::options_beside(session, o.draft_session, o.n_sequences)))
    return leave_out("no room for its session in the memory budget");
  return std::make_shared<DraftModel>(session, o.draft_model, o.draft_session, o.p_min,
                                      o.n_sequences);
}

}  // namespace

std::int64_t draft_bytes(const Model& model, const SpeculationOptions& options,
                         const SessionOptions& texts) {
  const std::int64_t rows = bytes_of_rows(model, options, texts);
  if (!options.draft_model) return rows;
  check_drafts(model, *options.draft_model);
  const SessionOptions of_draft =
      DraftModel::with_sequences_of(texts, options.draft_session, options.n_sequences);
  return rows + plan_to_look_at(*options.draft_model, of_draft).memory.total();
}

void reserve_for_drafts(const Model& model, const SpeculationOptions& options,
                        SessionOptions& session) {
  if (options.kinds.empty()) return;
  SessionOptions both = session;
  both.reserved += draft_bytes(model, options, plan_to_look_at(model, session).options);
  if (fits_budget(model, both)) session.reserved = both.reserved;
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
  std::shared_ptr<DraftModel> model;
  if (has(DraftKind::model)) model = open_draft_model(session, options);
  if (!model) std::erase(left.kinds, DraftKind::model);
  shared_ = std::make_shared<serve::SharedDrafts>(session, left, std::move(model));
}

std::shared_ptr<Draft> Speculation::draft() const {
  if (shared_->options.kinds.empty()) return nullptr;
  return std::make_shared<serve::CombinedDraft>(shared_);
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
