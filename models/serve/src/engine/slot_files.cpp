#include "engine/slot_files.h"

#include <algorithm>
#include <filesystem>

#include "weft/base/error.h"
#include "weft/run/kept_texts.h"

#include "engine/sequence_store.h"

namespace weft::serve {

void evict_for(SequenceStore& store, const std::function<void()>& restore) {
  for (;;) {
    try {
      return restore();
    } catch (const BudgetError&) {
      if (!store.evict()) throw;
    }
  }
}

// Throws unless the slot is idle, and has no text of another owner than this one; null: anybody's.
void SlotFiles::check_idle(std::int32_t slot, const std::string* owner) const {
  if (slot < 0 || slot >= session_.options().sequences)
    fail<ValueError>("no slot {}: the engine has {}", slot, session_.options().sequences);
  if (store_.is_busy(slot)) fail<ValueError>("slot {} is busy", slot);
  if (owner && session_.length(slot) > 0 && store_.scope(slot).owner != *owner)
    fail<SlotOwnerError>("slot {} holds a text of another client", slot);
}

Engine::SlotFile SlotFiles::save(std::int32_t slot, const std::string& path,
                                 const std::string& owner,
                                 const std::function<void()>& make_room) const {
  check_idle(slot, &owner);
  if (store_.scope(slot).has_dropped)
    fail<UnsupportedError>(
        "slot {} holds a text that dropped tokens when the context was full (context_end): it is "
        "not what computing its tokens gives, and is not saved",
        slot);
  if (store_.scope(slot).has_moved_parts)
    fail<UnsupportedError>(
        "slot {} holds parts of prompts that were computed at other positions (n_cache_reuse): "
        "only what was computed exactly is saved",
        slot);
  if (make_room) make_room();
  save_sequence(session_, slot, "", path);
  return {session_.length(slot), static_cast<std::int64_t>(std::filesystem::file_size(path))};
}

Engine::SlotFile SlotFiles::restore(std::int32_t slot, const SavedSequence& saved,
                                    const std::string& owner) {
  check_idle(slot, nullptr);
  evict_for(store_, [&] { saved.restore(session_, slot, std::ssize(saved.tokens())); });
  store_.adopt(slot, owner);
  return {std::ssize(saved.tokens()),
          static_cast<std::int64_t>(std::filesystem::file_size(saved.name()))};
}

std::int64_t SlotFiles::erase(std::int32_t slot, const std::string& owner) {
  check_idle(slot, &owner);
  const std::int64_t n = session_.length(slot);
  store_.clear(slot);
  return n;
}

LeftTexts SlotFiles::leave(std::int64_t max_bytes) const {
  const SequenceTree& tree = store_.tree();
  std::vector<std::int32_t> best;
  const SessionOptions& o = session_.options();
  for (std::int32_t s = 0; s < o.sequences + o.kept; ++s)
    if (tree.has(s) && !store_.scope(s).has_moved_parts && session_.why_not_saved(s).empty())
      best.push_back(s);
  std::ranges::sort(best, [&](std::int32_t a, std::int32_t b) {
    return tree.leaf(b)->use.is_worth_less(tree.leaf(a)->use);
  });
  LeftTexts left;
  for (const std::int32_t s : best) {
    const KeptBytes each = kept_bytes(session_);
    const double needed =
        each.per_sequence + each.per_token * static_cast<double>(session_.length(s));
    if (static_cast<double>(left.bytes()) + needed > static_cast<double>(max_bytes)) continue;
    LeftTexts::Text text{.owner = store_.scope(s).owner, .saved = {}};
    save_sequence(session_, s, "", [&](std::span<const std::byte> bytes) {
      text.saved.insert(text.saved.end(), bytes.begin(), bytes.end());
    });
    if (left.bytes() + std::ssize(text.saved) > max_bytes) continue;
    left.texts.push_back(std::move(text));
  }
  return left;
}

// The one that is worth least comes first, so that the others are used after it.
void SlotFiles::take(const LeftTexts& left) {
  const SessionOptions& o = session_.options();
  std::int32_t to = o.sequences;
  for (auto text = left.texts.rbegin(); text != left.texts.rend() && to < o.sequences + o.kept;
       ++text) {
    const SavedSequence saved = SavedSequence::parse(text->saved, "a text of an unloaded model");
    if (!saved.why_not(session_, to).empty()) continue;
    try {
      saved.restore(session_, to, std::ssize(saved.tokens()));
    } catch (const Error&) {
      continue;  // a shorter one may fit
    }
    store_.adopt(to++, text->owner);
  }
}

}  // namespace weft::serve
