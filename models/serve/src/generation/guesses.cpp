#include "generation/guesses.h"

#include <algorithm>
#include <exception>

#include "weft/base/error.h"

#include "generation/generation_impl.h"

namespace weft::serve {
namespace {

// How many guesses the text has a use for.
std::int64_t room_of(const Generation::Impl& text) {
  if (!text.options.draft || text.pending().size() != 1 || text.n_new() == 0 || text.must_encode)
    return 0;
  const SessionOptions& o = text.session.options();
  const std::int64_t left =
      text.options.max_tokens < 0 ? o.context : text.options.max_tokens - text.n_new() - 1;
  return std::min({left, o.rewind, o.context - std::ssize(text.tokens),
                   static_cast<std::int64_t>(text.options.max_guesses)});
}

// Leaves the guesses up to the first one that the text cannot have.
void remove_impossible(std::vector<TokenId>& ids, std::int64_t n_vocab,
                       const std::optional<TextRules>& rules) {
  std::optional<TextRules> after;
  if (rules && rules->restricts()) after.emplace(*rules);
  const auto is_possible = [&](TokenId id) {
    return id >= 0 && id < n_vocab && (!after || after->accept_if_allowed(id));
  };
  ids.erase(std::ranges::find_if_not(ids, is_possible), ids.end());
}

}  // namespace

Guesses::~Guesses() {
  if (rows_.empty() || count() == 0) return;  // the session may be in use by another thread
  try {
    cut();
  } catch (const std::exception&) {  // a session that lost its files, say: it reports that itself
    return;
  }
}

std::span<const TokenId> Guesses::propose(Generation::Impl& text, std::int64_t n_texts,
                                          std::int64_t n_guesses, std::int64_t room) {
  forget();
  was_cancelled_ = false;
  room = std::min(room, room_of(text));
  if (room <= 0) return {};
  const std::shared_ptr<Draft> draft = text.options.draft;
  std::optional<TextRules> rules;
  if (text.rules && text.rules->restricts()) rules.emplace(*text.rules);
  try {
    draft->propose({.tokens = text.tokens,
                    .sequence = text.sequence,
                    .max = static_cast<std::size_t>(room),
                    .n_texts = n_texts,
                    .n_guesses = n_guesses,
                    .rules = rules ? &*rules : nullptr,
                    .cancel = text.cancel},
                   ids_);
    if (std::ssize(ids_) > room) ids_.clear();
    remove_impossible(ids_, text.session.model().facts().n_vocab, text.rules);
    was_asked_ = true;
  } catch (const CancelledError&) {
    ids_.clear();
    was_cancelled_ = true;
  } catch (const std::exception&) {  // the text goes on without drafts
    ids_.clear();
    text.options.draft.reset();
  }
  return ids_;
}

void Guesses::stepped(Generation::Impl& text, std::span<const float> rows, const DraftStep& step) {
  if (!std::exchange(was_asked_, false)) return;
  text.options.draft->stepped(step);
  if (ids_.empty()) return text.options.draft->settled(0, 0);
  rows_.assign(rows.begin(), rows.end());
  session_ = &text.session;
  sequence_ = text.sequence;
  n_chosen_ = std::ssize(text.tokens);
  n_right_ = 0;
}

std::span<const float> Guesses::row() const {
  if (rows_.empty()) return {};
  const std::size_t width = rows_.size() / (ids_.size() + 1);
  return std::span(rows_).subspan(n_right_ * width, width);
}

void Guesses::settle(Generation::Impl& text, TokenId token) {
  if (rows_.empty()) return;
  if (n_right_ == ids_.size() || ids_[n_right_] != token) return drop(text);
  ++n_right_;
  ++n_chosen_;
  text.n_fed = text.tokens.size();
}

std::int64_t Guesses::cut() {
  // A sequence that something else changed has none of the guesses, and may hold another text.
  const auto held = session_->tokens(sequence_);
  const auto guessed = std::span(ids_).subspan(n_right_);
  const bool is_own = std::ssize(held) == n_chosen_ + count() &&
                      std::ranges::equal(held.last(guessed.size()), guessed);
  forget();
  if (!is_own) return n_chosen_;
  const std::int64_t n = session_->resume_point(sequence_, n_chosen_);
  session_->truncate(sequence_, n);
  return n;
}

void Guesses::drop(Generation::Impl& text) {
  if (rows_.empty()) return;
  if (text.options.draft) text.options.draft->settled(ids_.size(), n_right_);
  const std::int64_t n = cut();
  text.n_fed = static_cast<std::size_t>(n);
  if (n != n_chosen_) text.options.draft.reset();
}

void Guesses::end(Generation::Impl& text) {
  drop(text);
  text.tokens.resize(text.n_delivered);
  if (text.options.draft) text.options.draft->ended(text.tokens);
}

void Guesses::set_aside(Generation::Impl& text) {
  if (rows_.empty()) return;
  text.unused_logits.assign(row().begin(), row().end());
  drop(text);
}

}  // namespace weft::serve
