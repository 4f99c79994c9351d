#include "engine/moved_texts.h"

#include <algorithm>
#include <vector>

#include "weft/run/kept_texts.h"
#include "weft/run/moved_tokens.h"

#include "engine/sequence_store.h"
#include "generation/generation_impl.h"

namespace weft::serve {
namespace {

// Shorter parts have too little of what they mean in themselves, and hardly save anything.
constexpr std::int64_t kMinPart = 16;

}  // namespace

MovedTexts::MovedTexts(Session& session, SequenceStore& store)
    : session_(session), store_(store), why_not_(why_not_moved(session)) {}

void MovedTexts::find(EngineText& text, std::int64_t from) const {
  text.part = {};
  if (!text.allows_moved_parts() || !why_not_.empty()) return;
  const std::int64_t least = std::max(text.request->wanted.moved.min_tokens, kMinPart);
  Scope scope = scope_of(text);
  std::vector<HeldIds> held;
  for (const bool moved : {false, true}) {
    scope.has_moved_parts = moved;
    for (HeldIds& ids : store_.tree().held_ids(scope, least - 1))
      if (ids.sequence != text.generation->sequence()) held.push_back(std::move(ids));
  }
  const auto prompt = text.generation->tokens().first(
      static_cast<std::size_t>(text.generation->n_prompt() - 1));  // the last one gives the logits
  text.part = find_moved_part(prompt, from, least, held);
}

// Whether the first n tokens of its part are still where they were found.
bool MovedTexts::is_held(const EngineText& text, std::int64_t n) const {
  const MovedPart& part = text.part;
  Scope scope = scope_of(text), other = store_.scope(part.sequence);
  scope.has_moved_parts = other.has_moved_parts = false;
  if (scope != other || session_.length(part.sequence) < part.begin + n) return false;
  const auto wanted = text.generation->tokens().subspan(static_cast<std::size_t>(part.at),
                                                        static_cast<std::size_t>(n));
  return std::ranges::equal(wanted, held_tokens(session_, part.sequence, part.begin, n));
}

MovedTexts::Taken MovedTexts::take(EngineText& text, std::int64_t max_tokens,
                                   const std::atomic<bool>* cancel) {
  MovedPart& part = text.part;
  const std::int32_t slot = text.generation->sequence();
  const std::int64_t n = std::min({part.n, max_tokens, session_.options().prefill_width});
  if (!is_held(text, n)) {
    find(text, part.at);
    return {};
  }
  if (!append_moved(session_, slot, {.from = part.sequence, .begin = part.begin, .n = n})) {
    find(text, part.at + part.n);
    return {};
  }
  Taken taken{.n = n};
  try {
    const double share = text.request->wanted.moved.repeated_share;
    taken.n_repeated = repeat_most_changed(session_, slot, n, share, cancel);
  } catch (...) {
    session_.truncate(slot, part.at);
    throw;
  }
  impl_of(*text.generation).n_fed += static_cast<std::size_t>(n);
  if (!text.has_moved_parts) {
    text.has_moved_parts = true;
    store_.attach(slot, text);
  }
  part = {part.at + n, part.sequence, part.begin + n, part.n - n};
  if (part.n == 0) find(text, part.at);
  return taken;
}

}  // namespace weft::serve
