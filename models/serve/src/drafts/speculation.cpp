#include "weft/serve/speculation.h"

#include <algorithm>
#include <array>
#include <optional>

#include "weft/base/clock.h"
#include "weft/base/error.h"
#include "weft/run/memory_plan.h"

#include "drafts/draft_costs.h"
#include "drafts/layer_draft.h"

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

// The guesses of a draft model, which keeps what texts have in common.
class ModelDraft final : public Draft {
 public:
  explicit ModelDraft(std::shared_ptr<DraftModel> model) : model_(std::move(model)) {}
  void begin() override {}
  void prepare(const DraftRequest& request) override { model_->prepare(request); }
  void propose(const DraftRequest& request, std::vector<TokenId>& guesses) override {
    model_->propose(request, guesses);
  }

 private:
  std::shared_ptr<DraftModel> model_;
};

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

struct Speculation::Shared {
  Shared(Session& s, const SpeculationOptions& o, std::shared_ptr<DraftModel> m)
      : session(s),
        options(o),
        model(std::move(m)),
        costs(expected_costs()),
        of_kinds(o.kinds.size()) {}

  // The cost of a guess, as a share of a step of one token.
  double expected_cost(DraftKind kind) const {
    if (kind == DraftKind::ngram_simple) return 0;
    if (kind == DraftKind::model) return model->relative_cost();
    const auto seconds = [&](std::size_t plan) { return double(session.plan(plan).predicted_ns); };
    return seconds(session.n_step_plans()) / std::max(seconds(0), 1.0);
  }

  std::vector<double> expected_costs() const {
    std::vector<double> shares;
    for (const DraftKind kind : options.kinds) shares.push_back(expected_cost(kind));
    return shares;
  }

  std::shared_ptr<Draft> make(DraftKind kind) const {
    if (kind == DraftKind::ngram_simple) return std::make_shared<LookupDraft>(options.ngram_size);
    if (kind == DraftKind::model) return std::make_shared<ModelDraft>(model);
    return std::make_shared<serve::LayerDraft>(session, options.p_min);
  }

  Session& session;
  const SpeculationOptions options;
  const std::shared_ptr<DraftModel> model;
  serve::DraftCosts costs;
  SpeculationCounters all;
  std::vector<SpeculationCounters> of_kinds;  // by options.kinds
};

namespace {

template <class Shared>
class CombinedDraft final : public Draft {
 public:
  explicit CombinedDraft(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {
    for (const DraftKind kind : shared_->options.kinds) drafts_.push_back(shared_->make(kind));
  }

  void begin() override {
    for (const auto& draft : drafts_)
      if (draft) draft->begin();
    shared_->costs.begin_text();
  }

  void propose(const DraftRequest& request, std::vector<TokenId>& guesses) override {
    const Clock::time_point start = Clock::now();
    used_.reset();
    width_ = request.width;
    proposal_seconds_ = 0;
    for (std::size_t k = 0; k < drafts_.size() && guesses.empty(); ++k) {
      const std::size_t max = std::min(request.max, shared_->options.max_guesses);
      const std::size_t n =
          shared_->options.adaptive ? shared_->costs.best_length(k, request.width, max) : max;
      if (n > 0 && drafts_[k]) propose(k, n, request, guesses);
    }
    proposal_seconds_ = seconds_since(start);
  }

  void stepped(std::int64_t width, double seconds) override {
    shared_->costs.stepped(width, seconds);
    step_seconds_ = seconds;
  }

  void settled(std::size_t guesses, std::size_t right) override {
    Draft::settled(guesses, right);
    const double width = static_cast<double>(width_);
    double alone = step_seconds_;  // that of the step without guesses
    if (guesses > 0 && used_) {
      shared_->costs.settled(*used_, width_, guesses, right);
      alone = shared_->costs.step_seconds(width_);
      for (SpeculationCounters* c : {&shared_->all, &shared_->of_kinds[*used_]}) {
        c->n_drafted += static_cast<std::int64_t>(guesses);
        c->n_right += static_cast<std::int64_t>(right);
      }
    }
    shared_->all.seconds += step_seconds_ / width + proposal_seconds_;
    shared_->all.seconds_without += static_cast<double>(1 + right) * alone / width;
  }

 private:
  void propose(std::size_t k, std::size_t n, const DraftRequest& request,
               std::vector<TokenId>& guesses) {
    DraftRequest of_kind = request;
    of_kind.max = n;
    try {
      const Clock::time_point start = Clock::now();
      drafts_[k]->prepare(of_kind);
      const double extra = seconds_since(start);
      drafts_[k]->propose(of_kind, guesses);
      shared_->costs.proposed(k, guesses.size(), seconds_since(start) - extra, extra);
    } catch (const CancelledError&) {
      throw;
    } catch (const std::exception&) {  // the text goes on with the other kinds
      drafts_[k].reset();
      guesses.clear();
    }
    if (!guesses.empty()) used_ = k;
  }

  std::shared_ptr<Shared> shared_;
  std::vector<std::shared_ptr<Draft>> drafts_;  // by kind; null: it failed
  std::optional<std::size_t> used_;             // the kind of the last guesses
  std::int64_t width_ = 1;
  double proposal_seconds_ = 0, step_seconds_ = 0;
};

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
  if (!fits_budget(*o.draft_model, DraftModel::options_beside(session, o.draft_session)))
    return leave_out("no room for its session in the memory budget");
  return std::make_shared<DraftModel>(session, o.draft_model, o.draft_session, o.p_min);
}

}  // namespace

void reserve_for_drafts(const Model& model, const SpeculationOptions& options,
                        SessionOptions& session) {
  if (!options.draft_model) return;
  check_drafts(model, *options.draft_model);
  const SessionOptions resolved = plan_to_look_at(model, session).options;
  const SessionOptions of_draft = DraftModel::with_sequences_of(resolved, options.draft_session);
  SessionOptions both = session;
  both.reserved += plan_to_look_at(*options.draft_model, of_draft).memory.total();
  if (fits_budget(model, both)) session.reserved = both.reserved;
}

Speculation::Speculation(Session& session, const SpeculationOptions& options) {
  if (options.ngram_size == 0) fail<ValueError>("a look-up needs at least one token");
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
  shared_ = std::make_shared<Shared>(session, left, std::move(model));
}

std::shared_ptr<Draft> Speculation::draft() const {
  if (shared_->options.kinds.empty()) return nullptr;
  return std::make_shared<CombinedDraft<Shared>>(shared_);
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

std::size_t Speculation::max_guesses() const {
  return shared_->options.max_guesses;
}

}  // namespace weft
