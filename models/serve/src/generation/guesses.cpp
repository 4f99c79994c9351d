#include "generation/guesses.h"

#include <algorithm>
#include <exception>

#include "weft/base/error.h"

#include "generation/generation_impl.h"

namespace weft::serve {
namespace {

// How many guesses a step of the text can check.
std::int64_t room_of(const Generation::Impl& text) {
  if (!text.options.draft || text.pending().size() != 1 || text.n_new() == 0 || text.must_encode)
    return 0;
  const SessionOptions& o = text.session.options();
  const std::int64_t left =
      text.options.max_tokens < 0 ? o.context : text.options.max_tokens - text.n_new() - 1;
  return std::min({left, o.context - std::ssize(text.tokens), o.prefill_width - 1,
                   o.logits_rows - 1, static_cast<std::int64_t>(text.options.max_guesses)});
}

}  // namespace

Guesses::~Guesses() {
  if (ids_.empty()) return;
  try {
    cut();
  } catch (const std::exception&) {  // a session that lost its files, say: it reports that itself
    return;
  }
}

bool Guesses::feed(Generation::Impl& text) {
  const std::int64_t room = room_of(text);
  if (room <= 0) return false;
  const std::shared_ptr<Draft> draft = text.options.draft;
  ids_.clear();
  try {
    draft->propose(text.tokens, static_cast<std::size_t>(room), ids_);
    const std::int64_t n_vocab = text.session.model().facts().n_vocab;
    const bool known =
        std::ranges::all_of(ids_, [&](TokenId id) { return id >= 0 && id < n_vocab; });
    if (!known || std::ssize(ids_) > room) ids_.clear();
    if (ids_.empty()) return false;
    std::vector<StepToken> step{
        {.token = text.tokens.back(), .sequence = text.sequence, .logits = true}};
    for (const TokenId id : ids_)
      step.push_back({.token = id, .sequence = text.sequence, .logits = true});
    const std::span<const float> rows = text.session.step(step, text.cancel);
    rows_.assign(rows.begin(), rows.end());
  } catch (const CancelledError&) {
    ids_.clear();
    return false;                    // the text finds that out when it feeds
  } catch (const std::exception&) {  // the text goes on without drafts
    ids_.clear();
    text.options.draft.reset();
    return false;
  }
  session_ = &text.session;
  sequence_ = text.sequence;
  text.n_fed = text.tokens.size();
  n_chosen_ = std::ssize(text.tokens);
  n_right_ = 0;
  draft->n_checked += std::ssize(ids_);
  return true;
}

std::span<const float> Guesses::row() const {
  if (ids_.empty()) return {};
  const std::size_t width = rows_.size() / (ids_.size() + 1);
  return std::span(rows_).subspan(n_right_ * width, width);
}

void Guesses::settle(Generation::Impl& text, TokenId token) {
  if (ids_.empty()) return;
  if (n_right_ == ids_.size() || ids_[n_right_] != token) return drop(text);
  ++n_right_;
  ++n_chosen_;
  text.n_fed = text.tokens.size();
  if (text.options.draft) ++text.options.draft->n_right;
}

std::int64_t Guesses::cut() {
  ids_.clear();
  const std::int64_t n = session_->resume_point(sequence_, n_chosen_);
  session_->truncate(sequence_, n);
  return n;
}

void Guesses::drop(Generation::Impl& text) {
  if (ids_.empty()) return;
  const std::int64_t n = cut();
  text.n_fed = static_cast<std::size_t>(n);
  if (n != n_chosen_) text.options.draft.reset();
}

}  // namespace weft::serve
