#pragma once
// The sequences of an engine's session. The first ones belong to slots; the others, beside the
// slots, keep prompts whose slot was needed for another text. The store knows whose tokens each
// sequence holds, finds the longest prefix that a new text can reuse, and decides what is kept and
// what is evicted. Of the engine's classes, only this one copies, truncates and saves sequences; a
// Generation extends and truncates the one that it was given.
//
// Owned by the engine's thread, like everything in it. Invariants:
//   - A sequence is either attached to a running text or idle. Sequences beside the slots are
//     always idle.
//   - Only idle sequences are evicted.
//   - A text continues from sequences of its own owner alone, and learns nothing of the others.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/serve/engine.h"

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
  };

  // `inbox` is told how much slots hold.
  SequenceStore(Session& session, EngineInbox& inbox, std::int32_t n_slots);

  // Whether the text may reuse what the sequence holds: texts of one request always share it, those
  // of other owners never.
  bool may_share(std::int32_t sequence, const EngineText& text) const;
  Reuse find_reuse(const EngineText& text) const;
  // The idle slot that the text continues, unless it holds much more; otherwise the one that was
  // idle longest, empty ones first. REQUIRES: there is an idle slot.
  std::int32_t idle_slot_for(const EngineText& text, const Reuse& reuse) const;
  // Positions for further tokens, if everything idle is evicted. The maximum of the type: as many
  // as the context has.
  std::int64_t max_free_positions() const;

  // Makes the sequence of an idle slot hold what a text reuses. What it held is kept beside the
  // slots if it is long enough.
  void prepare(std::int32_t slot, const Reuse& reuse);
  // A text takes the idle slot's sequence, until detach(), which leaves it what it holds. REQUIRES:
  // the text has a generation of this sequence. It must not move in between.
  void attach(std::int32_t slot, const EngineText& text);
  void detach(std::int32_t slot);
  // A model with windows or recurrent states could not return to the end of the prompt after a long
  // text. Keeps a copy, which can.
  void keep_resume_point(std::int32_t slot);
  // Empties the idle sequence that was used longest ago. Returns false if all of them are empty.
  bool evict();
  // Empties an idle sequence.
  void clear(std::int32_t sequence);
  // Detaches all texts and empties all sequences. The state that the inbox has is not changed.
  void clear_all();

  // As Engine::save_slot() and those after it.
  Engine::SlotFile save(std::int32_t slot, const std::string& path, const std::string& owner,
                        const std::function<void()>& make_room);
  Engine::SlotFile restore(std::int32_t slot, const SavedSequence& saved, const std::string& owner);
  std::int64_t erase(std::int32_t slot, const std::string& owner);  // returns the tokens it held

 private:
  struct Sequence {
    const EngineText* text = nullptr;  // null: idle
    Clock::time_point used = {};
    std::string owner = {};  // TextRequest::owner of the text, or of that which left the tokens
    bool shared = true;      // false: no other request may continue from it
  };

  Sequence& at(std::int32_t i) { return sequences_[static_cast<std::size_t>(i)]; }
  const Sequence& at(std::int32_t i) const { return sequences_[static_cast<std::size_t>(i)]; }
  // The tokens of an idle sequence; 0 if it is attached.
  std::int64_t n_idle(std::int32_t sequence) const;
  Clock::time_point last_use(std::int32_t idle) const;
  bool may_read(std::int32_t sequence, const EngineText& text) const;
  std::string why_not(const EngineText& text, const Reuse& best, std::int64_t n_same,
                      std::int64_t n_other_scales) const;
  void keep(std::int32_t sequence, std::int32_t except);
  std::int32_t place_to_keep(std::int32_t sequence, std::int32_t except) const;
  void note_use(std::int32_t sequence);
  void check_idle(std::int32_t slot, const std::string* owner) const;
  void restore_prefix(std::int32_t slot, const SavedSequence& saved);

  Session& session_;
  EngineInbox& inbox_;
  const std::int32_t n_slots_;
  std::vector<Sequence> sequences_;  // by number
};

// Tokens at the beginning that the text has in common with `tokens`, without the last token of the
// text, which is computed in any case.
std::int64_t n_in_common(std::span<const TokenId> tokens, const EngineText& text);

}  // namespace weft::serve
