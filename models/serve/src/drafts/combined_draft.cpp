#include "drafts/combined_draft.h"

#include <algorithm>
#include <utility>

#include "weft/base/error.h"

#include "drafts/draft_kinds.h"

namespace weft::serve {
namespace {

std::vector<double> expected_costs(const Session& session, const SpeculationOptions& options,
                                   const DraftModel* model) {
  std::vector<double> costs;
  for (const DraftKind kind : options.kinds) costs.push_back(row_of(kind).cost(session, model));
  return costs;
}

}  // namespace

SharedDrafts::SharedDrafts(Session& s, const SpeculationOptions& o, std::shared_ptr<DraftModel> m,
                           const MemoryUse& use)
    : session(s),
      options(o),
      model(std::move(m)),
      memory(use),
      kept(options.ngram_size),
      costs(expected_costs(session, options, model.get())),
      of_kinds(options.kinds.size()) {}

// Every text of a step reports it.
void SharedDrafts::stepped(const DraftStep& step) {
  if (std::exchange(last_step, step.began) == step.began) return;
  costs.stepped(step.reads_prompts ? 0 : step.n_texts + step.n_guesses, step.seconds);
}

void SharedDrafts::count_time(const DraftStep& step, double seconds, double n_tokens) {
  const double n_steps = n_tokens / static_cast<double>(step.n_texts);
  Uncompared& u = uncompared[step.n_texts];
  u.seconds += seconds;
  // A step without guesses is compared with itself, so that a slow one counts as neither gain nor
  // loss.
  if (step.n_guesses == 0)
    u.seconds_of_plain += n_steps * step.seconds;
  else
    u.n_steps += n_steps;
  const std::optional<double> plain = costs.measured_seconds(step.n_texts);
  if (!plain) return;
  all.seconds += u.seconds;
  all.seconds_without += u.seconds_of_plain + u.n_steps * *plain;
  u = {};
}

CombinedDraft::CombinedDraft(std::shared_ptr<SharedDrafts> shared,
                             const std::shared_ptr<KeptTexts>& kept, std::string owner)
    : shared_(std::move(shared)), owner_(std::move(owner)) {
  for (const DraftKind kind : shared_->options.kinds)
    drafts_.push_back(row_of(kind).make(*shared_, kept));
}

void CombinedDraft::begin() {
  for (const auto& draft : drafts_)
    if (draft) draft->begin();
  shared_->costs.begin_text();
}

void CombinedDraft::propose(const DraftRequest& request, std::vector<TokenId>& guesses) {
  const Clock::time_point start = Clock::now();
  used_.reset();
  shape_ = {.n_texts = request.n_texts, .n_guesses = request.n_guesses};
  proposal_seconds_ = 0;
  DraftRequest of_kind = request;
  of_kind.owner = owner_;
  DraftCosts& costs = shared_->costs;
  if (!shared_->options.adaptive && costs.wants_plain_step(shape_.n_texts)) return;
  for (std::size_t k = 0; k < drafts_.size() && guesses.empty(); ++k) {
    const std::size_t max = std::min(request.max, shared_->options.max_guesses);
    of_kind.max = shared_->options.adaptive ? costs.best_length(k, shape_, max) : max;
    if (of_kind.max > 0 && drafts_[k]) propose_by(k, of_kind, guesses);
  }
  proposal_seconds_ = seconds_since(start);
}

void CombinedDraft::propose_by(std::size_t kind, const DraftRequest& request,
                               std::vector<TokenId>& guesses) {
  Draft& draft = *drafts_[kind];
  try {
    const Clock::time_point start = Clock::now();
    const bool is_ready = draft.prepare(request);
    const double extra = seconds_since(start);
    if (is_ready) draft.propose(request, guesses);
    shared_->costs.proposed(kind, guesses.size(), seconds_since(start) - extra, extra);
  } catch (const CancelledError&) {
    throw;
  } catch (const std::exception&) {  // the text goes on with the other kinds
    drafts_[kind].reset();
    guesses.clear();
  }
  if (!guesses.empty()) used_ = kind;
}

void CombinedDraft::ended(std::span<const TokenId> tokens) {
  for (const auto& draft : drafts_)
    if (draft) draft->ended(tokens);
}

void CombinedDraft::stepped(const DraftStep& step) {
  shared_->stepped(step);
  step_ = step;
}

// Counts the text's part of the step. What prompts of a step took is not known, so that those
// steps do not count.
void CombinedDraft::settled(std::size_t guesses, std::size_t right) {
  Draft::settled(guesses, right);
  if (guesses > 0 && used_) {
    shared_->costs.settled(*used_, shape_, guesses, right);
    for (SpeculationCounters* c : {&shared_->all, &shared_->of_kinds[*used_]}) {
      c->n_drafted += static_cast<std::int64_t>(guesses);
      c->n_right += static_cast<std::int64_t>(right);
    }
  }
  if (step_.reads_prompts) return;
  const double seconds = step_.seconds / static_cast<double>(step_.n_texts) + proposal_seconds_;
  shared_->count_time(step_, seconds, static_cast<double>(1 + right));
}

}  // namespace weft::serve
