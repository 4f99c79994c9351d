#pragma once
// What follows a sequence: everything that a session keeps for each of its sequences, behind one
// interface. Session::truncate(), copy() and clear(), and what saves and restores sequences
// (saved/sequence_states.h), are loops over the list in session/sequence_parties.h; nothing else
// knows how many parties there are.

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "weft/run/session.h"
#include "weft/run/token_range.h"

namespace weft::run {

// What is saved of a sequence.
struct SavedRange {
  std::int64_t begin = 0;  // no more of its memory than the tokens begin .. end - 1 need
  std::int64_t end = 0;    // as if the sequence ended here
  // Of states that do not have all tokens, such as windows, everything that the sequence has.
  bool all_of_windows = false;
};

// What a sequence keeps when it drops tokens.
struct Dropping {
  std::span<const TokenRange> kept;  // they move up to position 0
  std::int64_t same = 0;             // so many of the first tokens stay where they are
  std::int64_t length = 0;           // tokens of all ranges
};

class PerSequence {
 public:
  virtual ~PerSequence() = default;

  // Bytes that it takes for all sequences, beside the states of graphs: a part of
  // MemoryUse::other.
  virtual std::int64_t bytes() const { return 0; }
  // The largest length up to `length` from which the sequence can continue.
  virtual std::int64_t resume_point(std::int32_t /*sequence*/, std::int64_t length) const {
    return length;
  }

  // A step with these tokens was computed: they belong to their sequences now.
  virtual void appended(std::span<const StepToken> /*tokens*/) {}
  // Keeps what belongs to the first `length` tokens, and what does not belong to tokens. Like
  // copy() and clear(), throws nothing but the RankError of a party that is on other ranks, which
  // is the last one: the model is then lost. REQUIRES: `length` is a resume point.
  virtual void truncate(std::int32_t sequence, std::int64_t length) = 0;
  // Replaces `to` by what `from` had after its first `length` tokens. REQUIRES: the same of `from`,
  // and from != to.
  virtual void copy(std::int32_t from, std::int32_t to, std::int64_t length) = 0;
  // Keeps what belongs to the tokens that are kept, of which cells have moved. REQUIRES: what else
  // belongs to tokens, why_not_dropped() refuses.
  virtual void drop(std::int32_t sequence, const Dropping& dropping) {
    truncate(sequence, dropping.length);
  }
  // As mark() of kept_texts.h.
  virtual void mark(std::int32_t /*sequence*/, std::int64_t /*length*/) {}
  // Removes everything: the sequence is as in a new session.
  virtual void clear(std::int32_t sequence) { truncate(sequence, 0); }

  // What is saved of a sequence beside its tokens, as one or more states
  // (saved/sequence_states.h). A party without states is made again from the tokens, or begins
  // anew.
  virtual std::size_t n_states() const { return 0; }
  virtual SavedShape saved_shape(std::int32_t /*sequence*/, std::size_t /*state*/,
                                 const SavedRange& /*range*/) const {
    return {};
  }
  virtual void save(std::int32_t /*sequence*/, std::size_t /*state*/, const SavedRange& /*range*/,
                    const std::function<void(std::span<const std::byte>)>& /*write*/) const {}
  // Why the sequence cannot be saved now; "": it can.
  virtual std::string why_not_saved(std::int32_t /*sequence*/) const { return ""; }
  // The largest length up to `length` to which these states can be restored.
  virtual std::int64_t resume_point_of_saved(std::int64_t length, std::int64_t /*saved_length*/,
                                             std::span<const SavedState> /*states*/) const {
    return length;
  }
  // Throws FormatError if these cannot be its states, ValueError if the sequence cannot have that
  // length.
  virtual void check_saved(std::int32_t /*sequence*/, std::int64_t /*length*/,
                           std::span<const std::int32_t> /*saved_tokens*/,
                           std::span<const SavedState> /*states*/) const {}
  // As restore_states(). Throws BudgetError, and has then changed nothing, if the states do
  // not fit: only the first party of the list may. REQUIRES: check_saved() returned, and `length`
  // is a resume point of what was saved.
  virtual void restore(std::int32_t sequence, std::int64_t /*length*/,
                       std::span<const std::int32_t> /*saved_tokens*/,
                       std::span<const SavedState> /*states*/) {
    truncate(sequence, 0);
  }
  // For measurements: `length` tokens that are nobody's. Throws like restore().
  virtual void fill_with_noise(std::int32_t sequence, std::int64_t /*length*/) {
    truncate(sequence, 0);
  }
};

}  // namespace weft::run
