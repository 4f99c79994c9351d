#include "engine/sequence_store.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"

#include "engine/engine_inbox.h"
#include "engine/engine_request.h"

namespace weft::serve {
namespace {

// Shorter sequences are not kept beside the slots.
constexpr std::int64_t kMinKeptTokens = 32;

bool starts_with(const Session& session, std::int32_t sequence, std::span<const TokenId> prefix) {
  return session.common_prefix(sequence, prefix) == std::ssize(prefix);
}

// Whether all tokens of the sequence were computed with these scales of LoRAs.
bool has_scales(const Session& session, std::int32_t sequence, std::span<const float> scales) {
  return std::ranges::equal(session.lora_scales(sequence), scales) &&
         !session.mixes_lora_scales(sequence);
}

}  // namespace

std::int64_t n_in_common(std::span<const TokenId> tokens, const EngineText& text) {
  const auto wanted = text.tokens();
  const auto same = std::ranges::mismatch(tokens, wanted).in2 - wanted.begin();
  return std::min<std::int64_t>(same, std::ssize(wanted) - 1);
}

SequenceStore::SequenceStore(Session& session, EngineInbox& inbox, std::int32_t n_slots)
    : session_(session),
      inbox_(inbox),
      n_slots_(n_slots),
      sequences_(static_cast<std::size_t>(session.options().sequences)) {}

std::int64_t SequenceStore::n_idle(std::int32_t sequence) const {
  return at(sequence).text ? 0 : session_.length(sequence);
}

// Those that nobody may use go first.
Clock::time_point SequenceStore::last_use(std::int32_t idle) const {
  return n_idle(idle) == 0 || !at(idle).shared ? Clock::time_point() : at(idle).used;
}

bool SequenceStore::may_read(std::int32_t sequence, const EngineText& text) const {
  const Sequence& s = at(sequence);
  if (s.text && s.text->request == text.request) return true;
  const TextRequest& wanted = text.request->wanted;
  return wanted.reuse && s.shared && s.owner == wanted.owner &&
         (wanted.slot < 0 || wanted.slot == sequence);
}

bool SequenceStore::may_share(std::int32_t sequence, const EngineText& text) const {
  return may_read(sequence, text) &&
         has_scales(session_, sequence, *text.request->wanted.generation.lora_scales);
}

SequenceStore::Reuse SequenceStore::find_reuse(const EngineText& text) const {
  const std::span<const float> scales = *text.request->wanted.generation.lora_scales;
  const auto wanted = text.tokens();
  Reuse best;
  if (session_.model().facts().encodes)
    return {.why_not = "the prompt is read by the model's encoder"};
  if (text.request->wanted.prompt_logprobs && text.index == 0)
    return {.why_not = "the request wants the logprobs of its prompt"};
  std::int64_t n_same = 0, n_other_scales = 0;
  for (std::int32_t s = 0; s < session_.options().sequences; ++s) {
    if (!may_read(s, text)) continue;
    const std::int64_t n = std::min(session_.common_prefix(s, wanted), std::ssize(wanted) - 1);
    if (!has_scales(session_, s, scales)) {
      n_other_scales = std::max(n_other_scales, n);
      continue;
    }
    n_same = std::max(n_same, n);
    const std::int64_t usable = session_.resume_point(s, n);
    const bool is_idle_slot = s < n_slots_ && !at(s).text;
    if (usable > best.n || (is_idle_slot && usable > 0 && usable == best.n))
      best = {.sequence = s, .n = usable};
  }
  if (best.n < std::ssize(wanted) - 1) best.why_not = why_not(text, best, n_same, n_other_scales);
  return best;
}

// Why the text cannot reuse more than `best`. The sequences that it may share have `n_same` tokens
// in common with it, those with other scales of LoRAs `n_other_scales`. Says nothing of the
// sequences that it may not read.
std::string SequenceStore::why_not(const EngineText& text, const Reuse& best, std::int64_t n_same,
                                   std::int64_t n_other_scales) const {
  if (!text.request->wanted.reuse) return "the request does not reuse anything";
  if (best.n < n_same)
    return fmt::format("the memory of the model continues from token {}, not from {}", best.n,
                       n_same);
  if (n_other_scales > n_same)
    return fmt::format("{} tokens are held with other scales of LoRAs", n_other_scales);
  if (n_same > 0) return fmt::format("what is held differs after token {}", n_same);
  for (std::int32_t s = 0; s < session_.options().sequences; ++s)
    if (may_read(s, text) && n_idle(s) > 0)
      return "nothing that the request may reuse starts with the same token";
  return "nothing is held";
}

std::int32_t SequenceStore::idle_slot_for(const EngineText& text, const Reuse& reuse) const {
  const std::int32_t wanted = text.request->wanted.slot;
  if (wanted >= 0) return wanted;
  std::int32_t best = -1;
  for (std::int32_t slot = 0; slot < n_slots_; ++slot) {
    if (at(slot).text) continue;
    if (slot == reuse.sequence && n_idle(slot) - reuse.n < kMinKeptTokens) return slot;
    if (best < 0 || last_use(slot) < last_use(best)) best = slot;
  }
  return best;
}

std::int64_t SequenceStore::max_free_positions() const {
  std::int64_t free = session_.free_positions();
  if (free == std::numeric_limits<std::int64_t>::max()) return free;
  for (std::int32_t s = 0; s < session_.options().sequences; ++s)
    free += kCellsPerBlock * blocks_for(n_idle(s));
  return free;
}

void SequenceStore::prepare(std::int32_t slot, const Reuse& reuse) {
  const std::int64_t stays = reuse.sequence == slot ? reuse.n : 0;
  if (n_idle(slot) - stays >= kMinKeptTokens) keep(slot, reuse.sequence);
  if (reuse.sequence < 0) return session_.truncate(slot, 0);
  at(reuse.sequence).used = Clock::now();
  session_.copy(reuse.sequence, slot, reuse.n);
}

void SequenceStore::attach(std::int32_t slot, const EngineText& text) {
  Sequence& memory = at(slot);
  memory.text = &text;
  memory.owner = text.request->wanted.owner;
  memory.shared = text.request->wanted.reuse;
}

void SequenceStore::detach(std::int32_t slot) {
  at(slot).text = nullptr;
  note_use(slot);
}

// Copies the sequence to one beside the slots, unless another one already holds the same.
void SequenceStore::keep(std::int32_t sequence, std::int32_t except) {
  if (session_.mixes_lora_scales(sequence) || !at(sequence).shared) return;
  const std::int32_t to = place_to_keep(sequence, except);
  if (to < 0) return;
  session_.copy(sequence, to, session_.length(sequence));
  at(to).owner = at(sequence).owner;
  note_use(to);
}

void SequenceStore::keep_resume_point(std::int32_t slot) {
  const std::int64_t n = session_.length(slot);
  if (n >= kMinKeptTokens && session_.resume_point(slot, n / 2) != n / 2) keep(slot, -1);
}

// The sequence beside the slots that a copy replaces: a prefix of it, or the one that was used
// longest ago, but not `except`. Returns -1 if there is none, or no need for a copy.
std::int32_t SequenceStore::place_to_keep(std::int32_t sequence, std::int32_t except) const {
  const auto kept = session_.tokens(sequence);
  const auto scales = session_.lora_scales(sequence);
  std::int32_t oldest = -1, prefix = -1;
  for (std::int32_t s = 0; s < session_.options().sequences; ++s) {
    if (s == sequence) continue;
    const bool alike =
        has_scales(session_, s, scales) && at(s).shared && at(s).owner == at(sequence).owner;
    if (alike && starts_with(session_, s, kept) &&
        session_.resume_point(s, std::ssize(kept)) == std::ssize(kept))
      return -1;
    if (s < n_slots_ || s == except) continue;
    if (alike && starts_with(session_, sequence, session_.tokens(s))) prefix = s;
    if (oldest < 0 || at(s).used < at(oldest).used) oldest = s;
  }
  return prefix >= 0 ? prefix : oldest;
}

bool SequenceStore::evict() {
  std::int32_t oldest = -1;
  for (std::int32_t s = 0; s < session_.options().sequences; ++s)
    if (n_idle(s) > 0 && (oldest < 0 || last_use(s) < last_use(oldest))) oldest = s;
  if (oldest < 0) return false;
  clear(oldest);
  return true;
}

void SequenceStore::clear(std::int32_t sequence) {
  session_.truncate(sequence, 0);
  at(sequence).owner.clear();
  at(sequence).shared = true;
  note_use(sequence);
}

void SequenceStore::clear_all() {
  for (std::int32_t s = 0; s < session_.options().sequences; ++s) {
    at(s).text = nullptr;
    session_.truncate(s, 0);
  }
}

// The idle sequence was changed: its slot shows what it holds.
void SequenceStore::note_use(std::int32_t sequence) {
  Sequence& memory = at(sequence);
  memory.used = Clock::now();
  if (sequence >= n_slots_) return;
  inbox_.update_state([&](EngineState& s) {
    SlotState& state = s.slots[static_cast<std::size_t>(sequence)];
    state.n_held = session_.length(sequence);
    if (state.owner == memory.owner) return;
    state.owner = memory.owner;  // who learns nothing of the text before
    state.request = 0;
    state.n_prompt = state.n_new = 0;
    state.why_not_reused.clear();
  });
}

// Throws unless the slot is idle, and has no text of another owner than this one; null: anybody's.
void SequenceStore::check_idle(std::int32_t slot, const std::string* owner) const {
  if (slot < 0 || slot >= n_slots_)
    fail<ValueError>("no slot {}: the engine has {}", slot, n_slots_);
  if (at(slot).text) fail<ValueError>("slot {} is busy", slot);
  if (owner && n_idle(slot) > 0 && at(slot).owner != *owner)
    fail<SlotOwnerError>("slot {} holds a text of another client", slot);
}

// The prefix that save() found is kept beside the slots again, if it fits.
void SequenceStore::restore_prefix(std::int32_t slot, const SavedSequence& saved) {
  if (session_.resume_point(slot, 1) == 1) return;  // from anywhere
  std::int64_t n = std::ssize(saved.tokens());
  while (n >= kMinKeptTokens && session_.resume_point(slot, n) == n)
    n = saved.resume_point(session_, n - 1);
  const std::int32_t n_sequences = session_.options().sequences;
  if (n < kMinKeptTokens || n_slots_ == n_sequences) return;
  std::int32_t to = n_slots_;
  for (std::int32_t s = n_slots_; s < n_sequences; ++s)
    if (at(s).used < at(to).used) to = s;
  clear(to);
  try {
    session_.set_lora_scales(to, session_.lora_scales(slot));
    saved.restore(session_, to, n);
  } catch (const BudgetError&) {  // the slot has all that was asked for
    return;
  }
  at(to).owner = at(slot).owner;
  note_use(to);
}

Engine::SlotFile SequenceStore::save(std::int32_t slot, const std::string& path,
                                     const std::string& owner,
                                     const std::function<void()>& make_room) {
  check_idle(slot, &owner);
  // The longest beginning of it that another sequence has, and from which the slot itself cannot
  // continue (keep_resume_point()).
  std::int32_t prefix = -1;
  for (std::int32_t s = 0; s < session_.options().sequences; ++s) {
    const std::int64_t n = n_idle(s);
    const bool is_longer = n > (prefix < 0 ? 0 : session_.length(prefix));
    if (s != slot && is_longer && at(s).owner == owner &&
        starts_with(session_, slot, session_.tokens(s)) &&
        has_scales(session_, s, session_.lora_scales(slot)) && session_.resume_point(slot, n) != n)
      prefix = s;
  }
  if (make_room) make_room();
  save_sequence(session_, slot, "", path, prefix);
  return {session_.length(slot), static_cast<std::int64_t>(std::filesystem::file_size(path))};
}

Engine::SlotFile SequenceStore::restore(std::int32_t slot, const SavedSequence& saved,
                                        const std::string& owner) {
  check_idle(slot, nullptr);
  for (bool restored = false; !restored;) {
    try {
      saved.restore(session_, slot, std::ssize(saved.tokens()));
      restored = true;
    } catch (const BudgetError&) {
      if (!evict()) throw;
    }
  }
  at(slot).owner = owner;
  at(slot).shared = true;
  note_use(slot);
  restore_prefix(slot, saved);
  return {std::ssize(saved.tokens()),
          static_cast<std::int64_t>(std::filesystem::file_size(saved.name()))};
}

std::int64_t SequenceStore::erase(std::int32_t slot, const std::string& owner) {
  check_idle(slot, &owner);
  const std::int64_t n = session_.length(slot);
  clear(slot);
  return n;
}

}  // namespace weft::serve
