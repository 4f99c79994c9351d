#pragma once
// The store of prefixes: the sequences of an engine's session. The first ones belong to slots, and
// run; the others only keep the tokens of texts that ended. The store finds the longest prefix that
// a new text can continue from, whoever computed it, and decides what is kept and what is evicted.
// No other class of the engine copies, truncates or saves sequences; a Generation
// extends and truncates the one that it was given.
//
// What is kept is decided by its worth (prefix_worth.h): of the tree's leaves the one that is worth
// least is shortened from its end.
//
// Owned by the engine's thread, like everything in it. Invariants:
//   - A sequence is either attached to a running text or idle. Kept ones are always idle.
//   - Only idle sequences are evicted.
//   - A text continues from sequences of its own scope alone, and learns nothing of the others.
//   - All sequences with tokens that others may share are in the tree.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/serve/engine.h"

#include "prefixes/prefix_worth.h"
#include "prefixes/sequence_tree.h"

namespace weft::serve {

class EngineInbox;
struct EngineText;

class SequenceStore {
 public:
  // A prefix that a text can begin with.
  struct Reuse {
    std::int32_t sequence = -1;  // -1: nothing
    std::int64_t n = 0;          // tokens of the sequence
    std::string why_not;         // SlotState::why_not_reused
    std::int64_t n_same = 0;     // these two as in PromptDone
    std::vector<TokenId> held_instead = {};
    bool has_moved_parts = false;  // the prefix is of such a text
  };

  // `inbox` is told how much slots hold.
  SequenceStore(Session& session, EngineInbox& inbox);

  // Whether the text may reuse what the sequence holds: texts of one request always share it, those
  // of other scopes never.
  bool may_share(std::int32_t sequence, const EngineText& text) const;
  Reuse find_reuse(const EngineText& text) const;
  // The idle slot that the text continues, unless it holds much more; otherwise the one that was
  // idle longest, empty ones first. REQUIRES: there is an idle slot.
  std::int32_t idle_slot_for(const EngineText& text, const Reuse& reuse) const;
  // Positions for further tokens, if everything idle is evicted. The maximum of the type: as many
  // as the context has.
  std::int64_t max_free_positions() const;

  // Empties an idle slot. What it held is kept if it is long enough.
  void vacate(std::int32_t slot);
  // Makes the sequence of an idle slot hold what the text reuses, and room for what it will
  // compute, as far as that is worth more than what is kept. What the slot held is kept if it is
  // long enough.
  void prepare(std::int32_t slot, const EngineText& text, const Reuse& reuse);
  // A text takes the idle slot's sequence, until detach(), which leaves it what it holds. Once more
  // when its scope has changed. REQUIRES: the text has a generation of this sequence. It must not
  // move in between.
  void attach(std::int32_t slot, const EngineText& text);
  void detach(std::int32_t slot);
  // Frees some memory of what is worth least. Returns false if nothing is idle and holds tokens.
  bool evict();
  // Empties an idle sequence.
  void clear(std::int32_t sequence);
  // Detaches all texts and empties all sequences. The state that the inbox has is not changed.
  void clear_all();

  // Facts about a slot.
  bool is_busy(std::int32_t slot) const {
    return sequences_[static_cast<std::size_t>(slot)].text != nullptr;
  }
  const Scope& scope(std::int32_t sequence) const {
    return sequences_[static_cast<std::size_t>(sequence)].scope;
  }
  const SequenceTree& tree() const { return tree_; }
  // The idle sequence holds what was restored for this owner. Returns its tokens.
  std::int64_t adopt(std::int32_t sequence, const std::string& owner);

  PromptPrice& price() { return worth_.price(); }

 private:
  struct Sequence {
    const EngineText* text = nullptr;  // null: idle
    Clock::time_point used = {};
    Scope scope = {};    // that of the text, or of the one that left the tokens
    bool shared = true;  // false: no other request may continue from it
  };

  // The tokens of an idle sequence; 0 if it is attached.
  std::int64_t n_idle(std::int32_t sequence) const;
  Reuse reuse_of(std::int32_t sequence, const EngineText& text) const;
  void search(const EngineText& text, Reuse& best) const;
  std::string why_not(const EngineText& text, const Reuse& reuse) const;
  void keep(std::int32_t slot, std::int32_t except);
  void continue_from(std::int32_t sequence, std::int64_t n, std::int32_t slot);
  std::int32_t cheapest_sequence() const;
  void evict(std::int32_t sequence);
  void note_use(std::int32_t sequence);

  Session& session_;
  EngineInbox& inbox_;
  const std::int32_t n_slots_;
  // By number.
  struct Sequences : std::vector<Sequence> {
    using vector::vector;
    Sequence& of(std::int32_t i) { return (*this)[static_cast<std::size_t>(i)]; }
    const Sequence& of(std::int32_t i) const { return (*this)[static_cast<std::size_t>(i)]; }
  };
  Sequences sequences_;
  SequenceTree tree_;
  PrefixWorth worth_;
};

// Where the text's tokens belong.
Scope scope_of(const EngineText& text);

// Tokens at the beginning that the text has in common with `tokens`, without the last token of the
// text, which is computed in any case.
std::int64_t n_in_common(std::span<const TokenId> tokens, const EngineText& text);

}  // namespace weft::serve
