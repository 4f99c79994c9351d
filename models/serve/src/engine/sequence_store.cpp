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

// Shorter texts are not kept when their slot is needed.
constexpr std::int64_t kMinKeptTokens = 32;
// What one eviction takes from the end of a text.
constexpr std::int64_t kEvictedTokens = 256;
// Tokens of PromptDone::held_instead.
constexpr std::int64_t kShown = 16;

bool is_worth_less(const SequenceTree& tree, std::int32_t a, std::int32_t b) {
  return tree.leaf(a)->use.is_worth_less(tree.leaf(b)->use);
}

void count_evicted(EngineInbox& inbox, std::int64_t n) {
  inbox.update_state(
      [&](EngineState& s) { s.counters.evicted_tokens += static_cast<std::uint64_t>(n); });
}

}  // namespace

Scope scope_of(const EngineText& text) {
  const TextRequest& wanted = text.request->wanted;
  return {wanted.owner, *wanted.generation.lora_scales, text.has_moved_parts, text.has_dropped};
}

std::int64_t n_in_common(std::span<const TokenId> tokens, const EngineText& text) {
  const auto wanted = text.tokens();
  const auto same = std::ranges::mismatch(tokens, wanted).in2 - wanted.begin();
  return std::min<std::int64_t>(same, std::ssize(wanted) - 1);
}

SequenceStore::SequenceStore(Session& session, EngineInbox& inbox)
    : session_(session),
      inbox_(inbox),
      n_slots_(session.options().sequences),
      sequences_(static_cast<std::size_t>(n_slots_ + session.options().kept)),
      tree_(session),
      worth_(session) {}

std::int64_t SequenceStore::n_idle(std::int32_t sequence) const {
  return sequences_.of(sequence).text ? 0 : session_.length(sequence);
}

// ---- what a text can continue from

bool SequenceStore::may_share(std::int32_t sequence, const EngineText& text) const {
  const Sequence& s = sequences_.of(sequence);
  const TextRequest& wanted = text.request->wanted;
  if (session_.mixes_lora_scales(sequence)) return false;
  Scope scope = scope_of(text);
  scope.has_moved_parts = s.scope.has_moved_parts && text.allows_moved_parts();
  if (s.scope != scope) return false;
  if (s.text && s.text->request == text.request) return !s.text->has_dropped;
  return wanted.reuse && s.shared && (wanted.slot < 0 || wanted.slot == sequence);
}

// What the text can continue from of a sequence that it may share.
SequenceStore::Reuse SequenceStore::reuse_of(std::int32_t sequence, const EngineText& text) const {
  const auto wanted = text.tokens();
  const std::int64_t n = session_.common_prefix(sequence, wanted.first(wanted.size() - 1));
  return {.sequence = sequence,
          .n = session_.resume_point(sequence, n),
          .has_moved_parts = sequences_.of(sequence).scope.has_moved_parts};
}

SequenceStore::Reuse SequenceStore::find_reuse(const EngineText& text) const {
  const TextRequest& asked = text.request->wanted;
  if (session_.model().facts().encodes)
    return {.why_not = "the prompt is read by the model's encoder"};
  if (asked.prompt_logprobs && text.index == 0)
    return {.why_not = "the request wants the logprobs of its prompt"};
  const auto wanted = text.tokens();
  Reuse best;
  for (std::int32_t s = 0; s < n_slots_; ++s) {  // those of its request, and the slot that it names
    const bool is_own = sequences_.of(s).text && sequences_.of(s).text->request == text.request;
    if (!(is_own || s == asked.slot) || !may_share(s, text)) continue;
    if (const Reuse own = reuse_of(s, text); own.n > best.n) best = own;
  }
  best.n_same = best.n;
  if (asked.reuse && asked.slot < 0) search(text, best);
  if (best.n < std::ssize(wanted) - 1) best.why_not = why_not(text, best);
  return best;
}

// Replaces `best` by what the tree has, if that is more.
void SequenceStore::search(const EngineText& text, Reuse& best) const {
  const auto ids = text.tokens().first(text.tokens().size() - 1);  // the last gives the logits
  Scope scope = scope_of(text);
  for (const bool moved : {false, true}) {
    if (moved && !text.allows_moved_parts()) return;
    scope.has_moved_parts = moved;
    const SequenceTree::Match match = tree_.match(scope, ids);
    if (match.n == 0) continue;
    const SequenceTree::Start start = tree_.start(match, ids);
    if (match.n >= best.n_same)
      best.held_instead = held_tokens(session_, tree_.any_sequence(*match.node), match.n, kShown);
    best.n_same = std::max(best.n_same, match.n);
    if (start.n <= best.n) continue;
    best.sequence = start.sequence;
    best.n = start.n;
    best.has_moved_parts = moved;
  }
}

// Why the text reuses no more than that. Says nothing of sequences that it may not read.
std::string SequenceStore::why_not(const EngineText& text, const Reuse& reuse) const {
  const std::int64_t n_reused = reuse.n, n_same = reuse.n_same;
  const auto wanted = text.tokens();
  if (!text.request->wanted.reuse) return "the request does not reuse anything";
  if (n_reused < n_same)
    return fmt::format("the memory of the model continues from token {}, not from {}", n_reused,
                       n_same);
  const Scope scope = scope_of(text);
  std::int64_t n_other_scales = 0, n_held = 0;
  for (std::int32_t s = 0; s < std::ssize(sequences_); ++s) {
    const Scope& other = sequences_.of(s).scope;
    if (session_.length(s) == 0 || !sequences_.of(s).shared) continue;
    if (other.owner != scope.owner) continue;
    if (other.lora_scales == scope.lora_scales)
      ++n_held;
    else
      n_other_scales = std::max(n_other_scales, session_.common_prefix(s, wanted));
  }
  n_other_scales = std::min(n_other_scales, std::ssize(wanted) - 1);
  if (n_other_scales > n_same)
    return fmt::format("{} tokens are held with other scales of LoRAs", n_other_scales);
  if (n_same > 0)
    return fmt::format("what is held {} after token {}",
                       reuse.held_instead.empty() ? "ends" : "differs", n_same);
  return n_held > 0 ? "nothing that the request may reuse starts with the same token"
                    : "nothing is held";
}

std::int32_t SequenceStore::idle_slot_for(const EngineText& text, const Reuse& reuse) const {
  const std::int32_t wanted = text.request->wanted.slot;
  if (wanted >= 0) return wanted;
  const auto last_use = [&](std::int32_t idle) {  // long ago if nobody may use it
    return n_idle(idle) == 0 || !sequences_.of(idle).shared ? Clock::time_point()
                                                            : sequences_.of(idle).used;
  };
  std::int32_t best = -1;
  for (std::int32_t slot = 0; slot < n_slots_; ++slot) {
    if (sequences_.of(slot).text) continue;
    if (slot == reuse.sequence && n_idle(slot) - reuse.n < kMinKeptTokens) return slot;
    if (best < 0 || last_use(slot) < last_use(best)) best = slot;
  }
  return best;
}

std::int64_t SequenceStore::max_free_positions() const {
  std::int64_t free = session_.free_positions();
  if (free == std::numeric_limits<std::int64_t>::max()) return free;
  for (std::int32_t s = 0; s < std::ssize(sequences_); ++s)
    free += kCellsPerBlock * blocks_for(n_idle(s));
  return free;
}

// ---- what slots hold

void SequenceStore::vacate(std::int32_t slot) {
  if (n_idle(slot) >= kMinKeptTokens && tree_.has(slot)) keep(slot, -1);
  clear(slot);
}

void SequenceStore::prepare(std::int32_t slot, const EngineText& text, const Reuse& reuse) {
  const std::int64_t stays = reuse.sequence == slot ? reuse.n : 0;
  if (n_idle(slot) - stays >= kMinKeptTokens && tree_.has(slot)) keep(slot, reuse.sequence);
  if (reuse.sequence >= 0)
    continue_from(reuse.sequence, reuse.n, slot);
  else
    clear(slot);
  sequences_.of(slot).text = &text;  // so that nothing is evicted that it needs
  try {
    const std::int64_t n_new =
        std::max<std::int64_t>(text.request->wanted.generation.max_tokens, 0);
    const std::int64_t wanted = std::ssize(text.tokens()) - reuse.n + n_new;
    const std::int64_t n = std::min(wanted, session_.options().context) + 2 * kCellsPerBlock;
    while (spare_positions(session_) < n) {  // nobody should have to give room up later
      const std::int32_t least = cheapest_sequence();
      if (least < 0 || tree_.leaf(least)->use.worth > worth_.of_new()) break;
      evict(least);
    }
  } catch (...) {
    sequences_.of(slot).text = nullptr;
    throw;
  }
  sequences_.of(slot).text = nullptr;
}

// The idle slot gets the first n tokens of the sequence, which is emptied if it holds hardly more
// and is a kept one: the text goes on in its place.
void SequenceStore::continue_from(std::int32_t sequence, std::int64_t n, std::int32_t slot) {
  sequences_.of(sequence).used = Clock::now();
  if (sequence == slot) {
    if (tree_.has(slot)) tree_.shorten(slot, n);
    return session_.truncate(slot, n);
  }
  if (tree_.has(slot)) tree_.remove(slot);
  session_.copy(sequence, slot, n);
  if (sequence < n_slots_ || session_.length(sequence) - n >= kMinKeptTokens) return;
  if (tree_.shorten(sequence, n)) {
    tree_.rename(sequence, slot);
    sequences_.of(slot).scope = sequences_.of(sequence).scope;
  }
  clear(sequence);
}

void SequenceStore::attach(std::int32_t slot, const EngineText& text) {
  Sequence& memory = sequences_.of(slot);
  memory.text = &text;
  if (tree_.has(slot) && (memory.scope != scope_of(text) || !text.is_shared())) tree_.remove(slot);
  memory.scope = scope_of(text);
  memory.shared = text.is_shared();
  const TextRequest& wanted = text.request->wanted;
  for (const std::int64_t n : wanted.marks) mark(session_, slot, n);
  mark(session_, slot, std::ssize(text.tokens()) - 1);  // for the same prompt again
  if (!memory.shared || session_.mixes_lora_scales(slot)) return;
  const SequenceTree::Node* node = tree_.leaf(slot);
  if (!node) {
    node = &tree_.add(memory.scope, slot);
    // It goes on where one other text did, and not only where many begin.
    const bool continues = node->parent->children.size() == 2 && node->parent->parent;
    tree_.leaf(slot)->use.hits = (continues ? 0 : -1) + (wanted.likely_again ? 1 : 0);
  }
  tree_.for_each_above(slot, [&](SequenceTree::Node& n, std::int64_t end) {
    n.use = worth_.used(n.use.hits + 1, n.begin, end, n.is_leaf());
  });
}

void SequenceStore::detach(std::int32_t slot) {
  sequences_.of(slot).text = nullptr;
  if (SequenceTree::Node* leaf = tree_.leaf(slot); leaf && leaf->begin > session_.length(slot)) {
    const Use use = leaf->use;  // guesses that were wrong are gone
    tree_.remove(slot);
    tree_.add(sequences_.of(slot).scope, slot).use = use;
  }
  if (SequenceTree::Node* leaf = tree_.leaf(slot))
    leaf->use = worth_.used(leaf->use.hits, leaf->begin, session_.length(slot), true);
  note_use(slot);
}

// A kept sequence gets what the slot holds: an empty one, or that whose leaf is worth least, but
// not `except`. If all are worth more, what the slot holds is lost.
void SequenceStore::keep(std::int32_t slot, std::int32_t except) {
  std::int32_t to = -1;
  for (std::int32_t s = n_slots_; s < std::ssize(sequences_); ++s) {
    if (s == except) continue;
    const bool is_better = to < 0 || (session_.length(to) > 0 &&
                                      (session_.length(s) == 0 || is_worth_less(tree_, s, to)));
    if (is_better) to = s;
  }
  if (to < 0) return;
  if (tree_.has(to) && is_worth_less(tree_, slot, to)) {
    worth_.evicted(tree_.leaf(slot)->use);
    return count_evicted(inbox_, session_.length(slot) - tree_.leaf(slot)->begin);
  }
  if (tree_.has(to)) {
    worth_.evicted(tree_.leaf(to)->use);
    count_evicted(inbox_, session_.length(to) - tree_.leaf(to)->begin);
  }
  clear(to);
  session_.copy(slot, to, session_.length(slot));
  tree_.rename(slot, to);
  sequences_.of(to).scope = sequences_.of(slot).scope;
  note_use(to);
}

// ---- what is evicted

// The idle sequence with the leaf that is worth least; those that nobody may use first. -1: none.
std::int32_t SequenceStore::cheapest_sequence() const {
  std::int32_t least = -1;
  for (std::int32_t s = 0; s < std::ssize(sequences_); ++s) {
    if (!tree_.has(s) || n_idle(s) == 0) continue;
    if (least < 0 || is_worth_less(tree_, s, least)) least = s;
  }
  return least;
}

bool SequenceStore::evict() {
  for (std::int32_t s = 0; s < n_slots_; ++s) {
    if (n_idle(s) == 0 || tree_.has(s)) continue;
    clear(s);
    return true;
  }
  const std::int32_t least = cheapest_sequence();
  if (least < 0) return false;
  evict(least);
  return true;
}

// Takes a piece from the end of the sequence. REQUIRES: it is idle and in the tree.
void SequenceStore::evict(std::int32_t sequence) {
  const SequenceTree::Node& leaf = *tree_.leaf(sequence);
  worth_.evicted(leaf.use);
  const std::int64_t length = session_.length(sequence);
  std::int64_t n =
      std::max((length - kEvictedTokens) / kCellsPerBlock * kCellsPerBlock, leaf.begin);
  if (n - leaf.begin < kMinKeptTokens) n = leaf.begin;
  n = session_.resume_point(sequence, std::clamp<std::int64_t>(n, 0, length));
  const std::int64_t n_evicted = std::max<std::int64_t>(0, length - std::max(n, leaf.begin));
  if (n < kMinKeptTokens || !tree_.shorten(sequence, n)) {
    clear(sequence);
  } else {
    session_.truncate(sequence, n);
    note_use(sequence);
  }
  count_evicted(inbox_, n_evicted);
}

void SequenceStore::clear(std::int32_t sequence) {
  if (tree_.has(sequence)) tree_.remove(sequence);
  session_.truncate(sequence, 0);
  sequences_.of(sequence).scope = {};
  sequences_.of(sequence).shared = true;
  note_use(sequence);
}

void SequenceStore::clear_all() {
  for (std::int32_t s = 0; s < std::ssize(sequences_); ++s) {
    sequences_.of(s).text = nullptr;
    if (tree_.has(s)) tree_.remove(s);
    session_.truncate(s, 0);
  }
}

// The idle sequence was changed: its slot shows what it holds.
void SequenceStore::note_use(std::int32_t sequence) {
  Sequence& memory = sequences_.of(sequence);
  memory.used = Clock::now();
  const SequenceTree::Size held = tree_.size();
  inbox_.update_state([&](EngineState& s) {
    s.held_texts = held.sequences;
    s.held_tokens = held.tokens;
    s.held_bytes = worth_.bytes(held.sequences, held.tokens);
    if (sequence >= n_slots_) return;
    SlotState& state = s.slots[static_cast<std::size_t>(sequence)];
    state.n_held = session_.length(sequence);
    if (state.owner == memory.scope.owner) return;
    state.owner = memory.scope.owner;  // who learns nothing of the text before
    state.request = 0;
    state.n_prompt = state.n_new = 0;
    state.why_not_reused.clear();
  });
}

std::int64_t SequenceStore::adopt(std::int32_t sequence, const std::string& owner) {
  const auto scales = session_.lora_scales(sequence);
  sequences_.of(sequence).scope = {.owner = owner, .lora_scales = {scales.begin(), scales.end()}};
  sequences_.of(sequence).shared = true;
  if (tree_.has(sequence)) tree_.remove(sequence);
  SequenceTree::Node& leaf = tree_.add(sequences_.of(sequence).scope, sequence);
  const std::int64_t n = session_.length(sequence);
  leaf.use = worth_.used(1, leaf.begin, n, true);  // somebody wants it
  note_use(sequence);
  return n;
}

}  // namespace weft::serve
