#include <algorithm>

#include "weft/base/error.h"

#include "generation_impl.h"

namespace weft {
namespace {

void check(std::span<Generation* const> generations, const Session& session) {
  for (std::size_t i = 0; i < generations.size(); ++i) {
    if (&generations[i]->session() != &session)
      fail<ValueError>("generation {} of the batch belongs to another session", i);
    for (std::size_t j = 0; j < i; ++j) {
      if (generations[i]->sequence() == generations[j]->sequence())
        fail<ValueError>("generations {} and {} of the batch have the same sequence", j, i);
    }
  }
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
    const std::optional<GenerationEvent> event = make(generation->impl());
    if (event) events_.push_back({generation, *event});
  } catch (...) {
    events_.push_back({generation, {}, std::current_exception()});
  }
}

// Adds pending tokens of generations, as far as the step has room: either of those with one pending
// token, or (prompts) of those with more. Starts with the generation whose turn it is.
void Batch::add_parts(std::span<Generation* const> generations, bool prompts,
                      std::span<const std::int64_t> max_tokens) {
  const SessionOptions& o = session_.options();
  for (std::size_t i = 0; i < generations.size(); ++i) {
    const std::size_t at = (turn_ + i) % generations.size();
    Generation* generation = generations[at];
    Generation::Impl& g = generation->impl();
    const auto pending = g.pending();
    if (g.stopped != StopReason::none || pending.empty() || (pending.size() > 1) != prompts)
      continue;
    auto room = static_cast<std::size_t>(o.prefill_width) - tokens_.size();
    if (!max_tokens.empty()) room = std::min(room, static_cast<std::size_t>(max_tokens[at]));
    const bool has_row = pending.size() <= room && n_rows_ < o.logits_rows;
    // The last token needs a step with room for its row of logits.
    const std::size_t n = has_row ? pending.size() : std::min(pending.size() - 1, room);
    if (n == 0) continue;
    for (const TokenId token : pending.first(n))
      tokens_.push_back({.token = token, .sequence = g.sequence, .logits = false});
    tokens_.back().logits = has_row;
    n_rows_ += has_row;
    parts_.push_back({generation, n, has_row});
  }
}

std::span<const Batch::Event> Batch::step(std::span<Generation* const> generations,
                                          const std::atomic<bool>* cancel,
                                          std::span<const std::int64_t> max_tokens) {
  check(generations, session_);
  events_.clear();
  parts_.clear();
  tokens_.clear();
  n_rows_ = 0;
  for (Generation* generation : generations) {
    if (generation->ended()) continue;
    add_event(generation, [](Generation::Impl& g) -> std::optional<GenerationEvent> {
      if (auto event = g.next_without_step()) return event;
      if (g.pending().empty()) return g.choose(g.unused_logits);
      return std::nullopt;
    });
  }
  if (!events_.empty()) return events_;  // run the step in the next call, so that no event is lost
  for (Generation* generation : generations) {
    if (!generation->ended() && !generation->impl().encode_text()) return events_;
  }
  add_parts(generations, false, max_tokens);
  add_parts(generations, true, max_tokens);
  ++turn_;
  if (tokens_.empty()) return events_;

  std::span<const float> rows;
  try {
    rows = session_.step(tokens_, cancel);
  } catch (const CancelledError&) {
    return events_;
  }
  const std::size_t width = n_rows_ > 0 ? rows.size() / static_cast<std::size_t>(n_rows_) : 0;
  for (const Part& part : parts_) part.generation->impl().n_fed += part.n_tokens;
  for (std::size_t row = 0; const Part& part : parts_) {
    if (!part.has_row) continue;
    const auto logits = rows.subspan(width * row++, width);
    add_event(part.generation, [&](Generation::Impl& g) { return g.choose_unless_full(logits); });
  }
  return events_;
}

}  // namespace weft
