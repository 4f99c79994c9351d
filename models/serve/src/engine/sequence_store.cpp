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

bool starts_with(std::span<const TokenId> tokens, std::span<const TokenId> prefix) {
  return tokens.size() >= prefix.size() && std::ranges::equal(tokens.first(prefix.size()), prefix);
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

std::span<const TokenId> SequenceStore::tokens(std::int32_t sequence) const {
  const Sequence& s = at(sequence);
  return s.text ? s.text->generation->held() : s.tokens;
}

bool SequenceStore::has_scales(std::int32_t sequence, std::span<const float> scales) const {
  return std::ranges::equal(session_.lora_scales(sequence), scales) &&
         !session_.mixes_lora_scales(sequence);
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
         has_scales(sequence, *text.request->wanted.generation.lora_scales);
}

SequenceStore::Reuse SequenceStore::find_reuse(const EngineText& text) const {
  const std::span<const float> scales = *text.request->wanted.generation.lora_scales;
  Reuse best;
  if (session_.model().facts().encodes)
    return {.why_not = "the prompt is read by the model's encoder"};
  if (text.request->wanted.prompt_logprobs && text.index == 0)
    return {.why_not = "the request wants the logprobs of its prompt"};
  std::int64_t n_same = 0, n_other_scales = 0;
  for (std::int32_t s = 0; s < session_.options().sequences; ++s) {
    if (!may_read(s, text)) continue;
    const std::int64_t n = n_in_common(tokens(s), text);
    if (!has_scales(s, scales)) {
      n_other_scales = std::max(n_other_scales, n);
      continue;
    }
    n_same = std::max(n_same, n);
    const std::int64_t usable = session_.resume_point(s, n);
    const bool is_idle_slot = s < n_slots_ && !at(s).text;
    if (usable > best.n || (is_idle_slot && usable > 0 && usable == best.n))
      best = {.sequence = s, .n = usable};
  }
  if (best.n < std::ssize(text.tokens()) - 1)
    best.why_not = why_not(text, best, n_same, n_other_scales);
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
    if (may_read(s, text) && !at(s).tokens.empty())
      return "nothing that the request may reuse starts with the same token";
  return "nothing is held";
}

std::int32_t SequenceStore::idle_slot_for(const EngineText& text, const Reuse& reuse) const {
  const std::int32_t wanted = text.request->wanted.slot;
  if (wanted >= 0) return wanted;
  std::int32_t best = -1;
  for (std::int32_t slot = 0; slot < n_slots_; ++slot) {
    if (at(slot).text) continue;
    if (slot == reuse.sequence && std::ssize(at(slot).tokens) - reuse.n < kMinKeptTokens)
      return slot;
    if (best < 0 || at(slot).last_use() < at(best).last_use()) best = slot;
  }
  return best;
}

std::int64_t SequenceStore::max_free_positions() const {
  std::int64_t free = session_.free_positions();
  if (free == std::numeric_limits<std::int64_t>::max()) return free;
  for (const Sequence& s : sequences_) free += kCellsPerBlock * blocks_for(std::ssize(s.tokens));
  return free;
}

void SequenceStore::prepare(std::int32_t slot, const Reuse& reuse) {
  Sequence& memory = at(slot);
  const std::int64_t stays = reuse.sequence == slot ? reuse.n : 0;
  if (std::ssize(memory.tokens) - stays >= kMinKeptTokens) keep(slot, reuse.sequence);
  std::vector<TokenId> reused;
  if (reuse.sequence >= 0) {
    const auto from = tokens(reuse.sequence).first(static_cast<std::size_t>(reuse.n));
    reused.assign(from.begin(), from.end());
    at(reuse.sequence).used = Clock::now();
    session_.copy(reuse.sequence, slot, reuse.n);
  } else {
    session_.truncate(slot, 0);
  }
  memory.tokens = std::move(reused);
}

void SequenceStore::attach(std::int32_t slot, const EngineText& text) {
  Sequence& memory = at(slot);
  memory.text = &text;
  memory.tokens.clear();
  memory.owner = text.request->wanted.owner;
  memory.shared = text.request->wanted.reuse;
}

void SequenceStore::detach(std::int32_t slot) {
  const auto left = tokens(slot);
  std::vector<TokenId> noted(left.begin(), left.end());
  at(slot).text = nullptr;
  hold(slot, std::move(noted));
}

// Copies the sequence to one beside the slots, unless another one already holds the same.
void SequenceStore::keep(std::int32_t sequence, std::int32_t except) {
  if (session_.mixes_lora_scales(sequence) || !at(sequence).shared) return;
  const std::int32_t to = place_to_keep(sequence, except);
  if (to < 0) return;
  const auto from = tokens(sequence);
  std::vector<TokenId> copied(from.begin(), from.end());
  session_.copy(sequence, to, std::ssize(from));
  at(to).owner = at(sequence).owner;
  hold(to, std::move(copied));
}

void SequenceStore::keep_resume_point(std::int32_t slot) {
  const std::int64_t n = session_.length(slot);
  if (n >= kMinKeptTokens && session_.resume_point(slot, n / 2) != n / 2) keep(slot, -1);
}

// The sequence beside the slots that a copy replaces: a prefix of it, or the one that was used
// longest ago, but not `except`. Returns -1 if there is none, or no need for a copy.
std::int32_t SequenceStore::place_to_keep(std::int32_t sequence, std::int32_t except) const {
  const auto kept = tokens(sequence);
  const auto scales = session_.lora_scales(sequence);
  std::int32_t oldest = -1, prefix = -1;
  for (std::int32_t s = 0; s < session_.options().sequences; ++s) {
    if (s == sequence) continue;
    const auto other = tokens(s);
    const bool alike = has_scales(s, scales) && at(s).shared && at(s).owner == at(sequence).owner;
    if (alike && starts_with(other, kept) &&
        session_.resume_point(s, std::ssize(kept)) == std::ssize(kept))
      return -1;
    if (s < n_slots_ || s == except) continue;
    if (alike && starts_with(kept, other)) prefix = s;
    if (oldest < 0 || at(s).used < at(oldest).used) oldest = s;
  }
  return prefix >= 0 ? prefix : oldest;
}

bool SequenceStore::evict() {
  Sequence* oldest = nullptr;
  for (Sequence& s : sequences_)
    if (!s.tokens.empty() && (!oldest || s.last_use() < oldest->last_use())) oldest = &s;
  if (!oldest) return false;
  clear(static_cast<std::int32_t>(oldest - sequences_.data()));
  return true;
}

void SequenceStore::clear(std::int32_t sequence) {
  session_.truncate(sequence, 0);
  at(sequence).owner.clear();
  at(sequence).shared = true;
  hold(sequence, {});
}

void SequenceStore::clear_all() {
  for (std::int32_t s = 0; s < session_.options().sequences; ++s) {
    at(s).text = nullptr;
    at(s).tokens.clear();
    session_.truncate(s, 0);
  }
}

void SequenceStore::hold(std::int32_t sequence, std::vector<TokenId> tokens) {
  Sequence& memory = at(sequence);
  memory.tokens = std::move(tokens);
  memory.used = Clock::now();
  if (sequence >= n_slots_) return;
  inbox_.update_state([&](EngineState& s) {
    SlotState& state = s.slots[static_cast<std::size_t>(sequence)];
    state.n_held = std::ssize(memory.tokens);
    if (state.owner == memory.owner) return;
    state.owner = memory.owner;  // who learns nothing of the text before
    state.request = 0;
    state.n_prompt = state.n_new = 0;
    state.why_not_reused.clear();
  });
}

// The tokens of a slot, which must be idle, and have no text of another owner than this one; null:
// anybody's.
const std::vector<TokenId>& SequenceStore::idle_tokens(std::int32_t slot,
                                                       const std::string* owner) const {
  if (slot < 0 || slot >= n_slots_)
    fail<ValueError>("no slot {}: the engine has {}", slot, n_slots_);
  if (at(slot).text) fail<ValueError>("slot {} is busy", slot);
  if (owner && !at(slot).tokens.empty() && at(slot).owner != *owner)
    fail<SlotOwnerError>("slot {} holds a text of another client", slot);
  return at(slot).tokens;
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
  const auto kept = saved.tokens().first(static_cast<std::size_t>(n));
  at(to).owner = at(slot).owner;
  hold(to, {kept.begin(), kept.end()});
}

Engine::SlotFile SequenceStore::save(std::int32_t slot, const std::string& path,
                                     const std::string& owner,
                                     const std::function<void()>& make_room) {
  const std::vector<TokenId>& saved = idle_tokens(slot, &owner);
  // The longest beginning of it that another sequence has, and from which the slot itself cannot
  // continue (keep_resume_point()).
  std::int32_t prefix = -1;
  for (std::int32_t s = 0; s < session_.options().sequences; ++s) {
    const std::int64_t n = std::ssize(at(s).tokens);
    const bool is_longer = n > (prefix < 0 ? 0 : std::ssize(at(prefix).tokens));
    if (s != slot && is_longer && at(s).owner == owner && starts_with(saved, at(s).tokens) &&
        has_scales(s, session_.lora_scales(slot)) && session_.resume_point(slot, n) != n)
      prefix = s;
  }
  if (make_room) make_room();
  save_sequence(session_, slot, saved, "", path, prefix);
  return {std::ssize(saved), static_cast<std::int64_t>(std::filesystem::file_size(path))};
}

Engine::SlotFile SequenceStore::restore(std::int32_t slot, const SavedSequence& saved,
                                        const std::string& owner) {
  idle_tokens(slot, nullptr);
  const std::string& path = saved.name();
  const std::int64_t n_vocab = session_.model().facts().n_vocab;
  for (const TokenId id : saved.tokens()) {
    if (id < 0 || id >= n_vocab)
      fail<FormatError>("{}: token {} is outside the vocabulary of {}", path, id, n_vocab);
  }
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
  hold(slot, {saved.tokens().begin(), saved.tokens().end()});
  restore_prefix(slot, saved);
  return {std::ssize(saved.tokens()), static_cast<std::int64_t>(std::filesystem::file_size(path))};
}

std::int64_t SequenceStore::erase(std::int32_t slot, const std::string& owner) {
  const std::int64_t n = std::ssize(idle_tokens(slot, &owner));
  clear(slot);
  return n;
}

}  // namespace weft::serve
