#pragma once
// What sequences keep from step to step, one kind of it, for all sequences of a session. Each kind
// is a file of its own and a line in memory_kinds.h.
//
// A step: reserve(), write_inputs(), then append() if it was computed and give_back() if not.
// Whoever truncates, copies or restores asks resume_point() first: SessionMemory does.
// Steps, truncate() and copy() allocate nothing, but for states in the memory of a device. One
// thread at a time.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/arch/memory.h"

#include "memory/state_store.h"

namespace weft::run {

// A sequence grows by the positions from .. to - 1.
struct Growth {
  std::int32_t sequence = 0;
  std::int64_t from = 0, to = 0;
};

// Of a token of a step.
struct TokenPlace {
  std::int32_t sequence = 0;
  std::int64_t position = 0;
};

// Memory of an input of the step's graph, as long as its shape says; empty if the graph has no use
// for it.
using InputValues = std::span<std::int32_t>;

class SequenceMemory {
 public:
  virtual ~SequenceMemory() = default;

  // Inputs of the graph that write_inputs() fills, in its order.
  virtual std::vector<std::string> input_names() const = 0;
  // Whether the sequence could grow that far in steps, if nobody else grows meanwhile.
  virtual bool has_room(const Growth& growth) const = 0;
  // "2 of the 40 blocks of 64 positions that all sequences share are free"
  virtual std::string room() const = 0;
  // Makes room for the tokens of a step, each sequence at most once, from its present length on.
  // Returns the first one for which there is none, and then has to be given back; null if none.
  virtual const Growth* reserve(std::span<const Growth> step) = 0;
  // REQUIRES: the step is reserved, and these are its tokens.
  virtual void write_inputs(std::span<const TokenPlace> tokens, std::span<const Growth> step,
                            std::span<const InputValues> inputs) = 0;
  virtual void append(std::span<const Growth> step) = 0;     // its tokens count from now on
  virtual void give_back(std::span<const Growth> step) = 0;  // they never will

  // The largest length up to `length` that the sequence can be cut to; 0 always is one. REQUIRES:
  // at most its present length.
  virtual std::int64_t resume_point(std::int32_t sequence, std::int64_t length) const = 0;
  // REQUIRES of both: length is a resume point of the sequence, of `from`.
  virtual void truncate(std::int32_t sequence, std::int64_t length) = 0;
  // `to` has what `from` has up to `length`: shared, until one of them writes there. from != to.
  virtual void copy(std::int32_t from, std::int32_t to, std::int64_t length) = 0;

  // What is saved of a sequence of `length` tokens: these rows of every state, one after the
  // other.
  virtual std::vector<std::int32_t> saved_rows(std::int32_t sequence,
                                               std::int64_t length) const = 0;
  // Which of them, counted from the first, a sequence of only `length` tokens needs; none: it
  // cannot be made of them. REQUIRES: 0 <= length <= saved_length.
  struct Range {
    std::int64_t begin = 0, end = 0;
    bool possible = true;
  };
  virtual Range needed_rows(std::int64_t length, std::int64_t saved_length) const = 0;
  // The sequence forgets what it has and gets room for `length` tokens. Returns where the rows of
  // needed_rows() go. REQUIRES: can_replace().
  virtual bool can_replace(std::int32_t sequence, std::int64_t length) const = 0;
  virtual std::vector<std::int32_t> replace(std::int32_t sequence, std::int64_t length) = 0;

  StateStore& store() { return store_; }
  const StateStore& store() const { return store_; }

 protected:
  explicit SequenceMemory(StateStore store) : store_(std::move(store)) {}

 private:
  StateStore store_;
};

// What all kinds must know of a session.
struct MemoryLimits {
  std::int64_t sequences = 1, context = 1;
};

// Memory for a part of a graph's states. Throws Error if nobody knows its kind.
std::unique_ptr<SequenceMemory> make_memory(const MemoryPart& part, const MemoryLimits& limits,
                                            StateStore store);

}  // namespace weft::run
