#include <algorithm>
#include <utility>

#include <cxxabi.h>

#include "weft/base/clock.h"
#include "weft/base/error.h"

#include "generation/generation_impl.h"

namespace weft {

using serve::impl_of;

namespace {

void check(std::span<Generation* const> generations, const Session& session) {
  for (std::size_t i = 0; i < generations.size(); ++i) {
    if (&generations[i]->session() != &session)
      fail<ValueError>("generation {} of the batch belongs to another session", i);
    if (!impl_of(*generations[i]).has_begun)
      fail<ValueError>("generation {} of the batch has no prompt: call begin() first", i);
    for (std::size_t j = 0; j < i; ++j) {
      if (generations[i]->sequence() == generations[j]->sequence())
        fail<ValueError>("generations {} and {} of the batch have the same sequence", j, i);
    }
  }
}

// Whether the step needs the logits after the text's pending token `i`.
bool needs_row(const Generation::Impl& g, std::size_t i) {
  return i + 1 == g.pending().size() || g.wants_prompt_row(g.n_fed + i);
}

}  // namespace

Batch::Batch(Session& session) : session_(session) {
  const auto n = static_cast<std::size_t>(session.options().sequences);
  events_.reserve(n);
  parts_.reserve(n);
  tokens_.reserve(static_cast<std::size_t>(session.options().prefill_width));
}

// Adds the event that make() returns, if any, or what it throws.
template <class F>
void Batch::add_event(Generation* generation, F make) {
  try {
    const std::optional<GenerationEvent> event = make(impl_of(*generation));
    if (event) events_.push_back({generation, *event});
  } catch (abi::__forced_unwind&) {  // the thread ends
    throw;
  } catch (...) {
    events_.push_back({generation, {}, std::current_exception()});
  }
}

// Adds pending tokens of generations, as far as the step has room: either of those with one pending
// token, or (prompts) of those with more. Starts with the generation whose turn it is.
void Batch::add_parts(std::span<Generation* const> generations, bool prompts,
                      std::span<const std::int64_t> max_tokens) {
  for (std::size_t i = 0; i < generations.size(); ++i) {
    const std::size_t at = (turn_ + i) % generations.size();
    Generation* generation = generations[at];
    Generation::Impl& g = impl_of(*generation);
    const auto pending = g.pending();
    if (g.stopped != StopReason::none || pending.empty() || (pending.size() > 1) != prompts)
      continue;
    add_part(generation,
             max_tokens.empty() ? pending.size() : static_cast<std::size_t>(max_tokens[at]));
  }
}

void Batch::add_part(Generation* generation, std::size_t max_tokens) {
  const SessionOptions& o = session_.options();
  const Generation::Impl& g = impl_of(*generation);
  const auto room = static_cast<std::size_t>(o.prefill_width - n_tokens_);
  const std::size_t n_max = std::min({serve::n_fitting(g), room, max_tokens});
  std::size_t n = 0;
  for (; n < n_max; ++n) {
    const bool has_row = needs_row(g, n);
    if (has_row && n_rows_ == o.logits_rows) break;
    n_rows_ += has_row;
  }
  n_tokens_ += static_cast<std::int64_t>(n);
  if (n > 0) parts_.push_back({generation, n, {}});
}

// Adds guesses to the parts, which have one token each, where the texts and prompts leave room.
void Batch::add_guesses(std::span<Generation* const> generations) {
  const SessionOptions& o = session_.options();
  std::int64_t n_pending = 0;
  for (Generation* generation : generations)
    n_pending += std::ssize(impl_of(*generation).pending());
  const std::int64_t n_fed = std::min(n_pending, o.prefill_width);
  const bool has_prompts = n_pending > std::ssize(parts_);
  // Long prompts leave room for a few guesses.
  const std::int64_t n_max =
      std::min({std::max(o.prefill_width - n_fed, o.prefill_width / 8), o.prefill_width - n_tokens_,
                o.logits_rows - n_rows_ - (has_prompts ? 1 : 0)});
  n_texts_ = std::ssize(parts_);
  n_guesses_ = 0;
  for (Part& part : parts_) {
    Generation::Impl& g = impl_of(*part.generation);
    part.guesses = g.guesses.propose(g, n_texts_, n_guesses_, n_max - n_guesses_);
    n_guesses_ += std::ssize(part.guesses);
    was_cancelled_ |= g.guesses.was_cancelled();
  }
  n_tokens_ += n_guesses_;
  n_rows_ += n_guesses_;
}

void Batch::collect_tokens() {
  for (const Part& part : parts_) {
    const Generation::Impl& g = impl_of(*part.generation);
    const auto pending = g.pending();
    for (std::size_t i = 0; i < part.n_tokens; ++i) {
      tokens_.push_back({.token = pending[i], .sequence = g.sequence, .logits = needs_row(g, i)});
    }
    for (const TokenId id : part.guesses)
      tokens_.push_back({.token = id, .sequence = g.sequence, .logits = true});
  }
}

// Logprobs of prompts and new tokens from the rows of the step.
void Batch::take_rows(std::span<const float> rows, DraftStep step) {
  const std::size_t width = n_rows_ > 0 ? rows.size() / static_cast<std::size_t>(n_rows_) : 0;
  for (const Part& part : parts_) {
    impl_of(*part.generation).n_fed += part.n_tokens;
    n_fed_ += static_cast<std::int64_t>(part.n_tokens);
  }
  std::size_t row = 0, at = 0;
  for (const Part& part : parts_) {
    Generation::Impl& g = impl_of(*part.generation);
    const bool ends = g.pending().empty();
    for (std::size_t i = 0; i < part.n_tokens; ++i) {
      if (!tokens_[at++].logits) continue;
      const auto logits = rows.subspan(width * row++, width);
      if (!ends || i + 1 < part.n_tokens) {
        g.add_prompt_row(logits);
        continue;
      }
      const std::size_t n_guesses = part.guesses.size();
      const auto of_guesses = rows.subspan(width * (row - 1), width * (1 + n_guesses));
      row += n_guesses;
      at += n_guesses;
      g.guesses.stepped(g, of_guesses, step);
      add_event(part.generation, [&](auto& impl) { return impl.choose_unless_full(logits); });
    }
  }
}

std::span<const Batch::Event> Batch::step(std::span<Generation* const> generations,
                                          const std::atomic<bool>* cancel,
                                          std::span<const std::int64_t> max_tokens,
                                          NodeObserver* observer) {
  check(generations, session_);
  events_.clear();
  parts_.clear();
  tokens_.clear();
  n_tokens_ = n_rows_ = n_fed_ = 0;
  was_cancelled_ = false;
  for (Generation* generation : generations) {
    if (generation->ended()) continue;
    add_event(generation, [](Generation::Impl& g) -> std::optional<GenerationEvent> {
      if (auto event = g.next_without_step()) return event;
      if (const auto row = g.guesses.row(); !row.empty()) return g.choose(row);
      if (g.pending().empty()) return g.choose(g.unused_logits);
      return std::nullopt;
    });
  }
  if (!events_.empty()) return events_;  // run the step in the next call, so that no event is lost
  for (Generation* generation : generations) {
    was_cancelled_ = !generation->ended() && !impl_of(*generation).encode_text();
    if (was_cancelled_) return events_;
  }
  add_parts(generations, false, max_tokens);
  add_guesses(generations);
  if (was_cancelled_) {
    give_up_guesses(false);
    return events_;
  }
  add_parts(generations, true, max_tokens);
  ++turn_;
  if (parts_.empty()) return events_;
  collect_tokens();
  compute(cancel, observer);
  return events_;
}

// After a step that failed. `for_good`: texts go on without drafts.
void Batch::give_up_guesses(bool for_good) {
  for (Part& part : parts_) {
    Generation::Impl& g = impl_of(*part.generation);
    g.guesses.forget();
    if (!std::exchange(part.guesses, {}).empty() && for_good) g.options.draft.reset();
  }
  n_tokens_ -= n_guesses_;
  n_rows_ -= n_guesses_;
  n_guesses_ = 0;
  tokens_.clear();
  collect_tokens();
}

void Batch::compute(const std::atomic<bool>* cancel, NodeObserver* observer) {
  const Clock::time_point start = Clock::now();
  std::span<const float> rows;
  try {
    rows = session_.step(tokens_, cancel, observer);
  } catch (const CancelledError&) {
    was_cancelled_ = true;
    return give_up_guesses(false);
  } catch (abi::__forced_unwind&) {  // the thread ends
    throw;
  } catch (const BudgetError&) {  // later steps may have room for guesses
    if (n_guesses_ == 0) throw;
    give_up_guesses(false);
    return compute(cancel, observer);
  } catch (...) {
    if (n_guesses_ == 0) throw;
    give_up_guesses(true);
    return compute(cancel, observer);
  }
  take_rows(rows, {.began = start,
                   .seconds = seconds_since(start),
                   .n_texts = n_texts_,
                   .n_guesses = n_guesses_,
                   .reads_prompts = std::ssize(parts_) > n_texts_});
}

GenerationEvent Generation::next() {
  Impl& g = *impl_;
  if (auto event = g.next_without_step()) return *event;
  // Session::feed() knows how to cut a long prompt.
  if (g.pending().size() > 1 && !g.options.prompt_logprobs && !prefill())
    return g.end(StopReason::cancelled);
  if (!g.alone) g.alone.emplace(g.session);
  Generation* const self = this;
  for (;;) {
    const auto events = g.alone->step({&self, 1}, g.cancel);
    if (g.alone->was_cancelled()) return g.end(StopReason::cancelled);
    if (events.empty()) continue;
    if (events[0].error) std::rethrow_exception(events[0].error);
    return events[0].event;
  }
}

}  // namespace weft
