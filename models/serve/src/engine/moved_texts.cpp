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

void MovedTexts::find(EngineText& text) const {
  if (!text.allows_moved_parts() || !why_not_.empty()) return;
  const std::int64_t least = std::max(text.request->wanted.moved.min_tokens, kMinPart);
  const std::int64_t from = std::ssize(text.generation->held());
  const auto prompt = text.generation->tokens().first(
      static_cast<std::size_t>(text.generation->n_prompt() - 1));  // the last one gives the logits
  if (least > std::ssize(prompt) - from) return;
  Scope scope = scope_of(text);
  std::vector<HeldIds> held;
  for (const bool moved : {false, true}) {
    scope.has_moved_parts = moved;
    for (HeldIds& ids : store_.tree().held_ids(scope, least - 1))
      if (ids.sequence != text.generation->sequence()) held.push_back(std::move(ids));
  }
  const auto parts = find_moved_parts(prompt, from, least, held);
  text.parts.assign(parts.begin(), parts.end());
}

// Whether the first n tokens of the next part are still where they were found.
bool MovedTexts::is_held(const EngineText& text, std::int64_t n) const {
  const MovedPart& part = text.parts.front();
  if (!store_.tree().has(part.sequence)) return false;
  Scope scope = scope_of(text), other = store_.scope(part.sequence);
  scope.has_moved_parts = other.has_moved_parts = false;
  if (scope != other || session_.mixes_lora_scales(part.sequence) ||
      session_.length(part.sequence) < part.begin + n)
    return false;
  const auto wanted = text.generation->tokens().subspan(static_cast<std::size_t>(part.at),
                                                        static_cast<std::size_t>(n));
  return std::ranges::equal(wanted, held_tokens(session_, part.sequence, part.begin, n));
}

MovedTexts::Taken MovedTexts::take(EngineText& text, std::int64_t max_tokens,
                                   const std::atomic<bool>* cancel) {
  MovedPart& part = text.parts.front();
  const std::int32_t slot = text.generation->sequence();
  const std::int64_t n = std::min({part.n, max_tokens, max_moved_tokens(session_)});
  if (!is_held(text, n)) {
    text.parts.pop_front();
    return {};
  }
  if (!text.has_moved_parts) {  // before anything is taken, so that no exact text continues from it
    text.has_moved_parts = true;
    store_.attach(slot, text);
  }
  Taken taken;
  if (append_moved(session_, slot, {.from = part.sequence, .begin = part.begin, .n = n})) {
    taken.n = n;
    try {
      const double share = text.request->wanted.moved.repeated_share;
      taken.n_repeated = repeat_most_changed(session_, slot, n, share, cancel);
    } catch (...) {
      session_.truncate(slot, part.at);
      throw;
    }
    impl_of(*text.generation).n_fed += static_cast<std::size_t>(n);
  }
  // What windows no longer have is computed.
  part = {part.at + n, part.sequence, part.begin + n, part.n - n};
  if (part.n == 0) text.parts.pop_front();
  return taken;
}

}  // namespace weft::serve
