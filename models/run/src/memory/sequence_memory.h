#pragma once
// One kind of memory, for all sequences of a session. Each kind is a file of its own and a line in
// memory_kinds.h.
//
// A step calls reserve(), write_inputs(), and then append() if it was computed or rollback() if
// not. Callers of truncate(), copy() and replace() check resume_point() or needed_rows() first, as
// SessionMemory does. Steps, truncate() and copy() do not allocate, except for states in the memory
// of a device. One thread at a time.

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/arch/memory.h"

#include "memory/block_pool.h"
#include "memory/memory_limits.h"
#include "memory/state_store.h"
#include "memory/step_tokens.h"

namespace weft::run {

class CellDrop;
struct Dropping;

// The memory of an input of the step's graph, with the size of its shape; empty if the graph does
// not use it.
using InputValues = std::span<std::int32_t>;

class SequenceMemory {
 public:
  virtual ~SequenceMemory() = default;

  // The graph's inputs that write_inputs() fills, in its order.
  virtual std::vector<std::string> input_names() const = 0;
  // Whether the sequence could grow that far if no other sequence grows meanwhile.
  virtual bool has_room(const Growth& /*growth*/) const { return true; }
  // The positions that free blocks hold; the max of the type if there is always enough room.
  virtual std::int64_t free_positions() const { return std::numeric_limits<std::int64_t>::max(); }
  // The positions for which there is room for all that is kept while there is (thin()).
  virtual std::int64_t spare_positions() const { return free_positions(); }
  // "2 of the 40 shared blocks of 64 positions are free"
  virtual std::string room() const = 0;
  // Reserves room for the tokens of a step, with each sequence at most once, from its current
  // length on. Returns the first growth for which there is no room; the step must then be rolled
  // back. Returns null if there is room for all.
  virtual const Growth* reserve(std::span<const Growth> step) = 0;
  // REQUIRES: the step is reserved, and these are its tokens.
  virtual void write_inputs(std::span<const TokenPlace> tokens, std::span<const Growth> step,
                            std::span<const InputValues> inputs) = 0;
  virtual void append(std::span<const Growth> step) = 0;  // makes its tokens permanent
  // Undoes reserve(). Checkpoints that it dropped to make room do not come back.
  virtual void rollback(std::span<const Growth> step) = 0;

  // The largest length up to `length` to which the sequence can be truncated; at least 0. REQUIRES:
  // `length` is at most its current length.
  virtual std::int64_t resume_point(std::int32_t sequence, std::int64_t length) const = 0;
  // REQUIRES, for both: `length` is a resume point of the sequence, or of `from`.
  virtual void truncate(std::int32_t sequence, std::int64_t length) = 0;
  // Replaces `to` by the contents of `from` up to `length`, shared until one of them writes there.
  // REQUIRES: from != to.
  virtual void copy(std::int32_t from, std::int32_t to, std::int64_t length) = 0;
  // For drop_tokens(). Null: no sequence owns cells here.
  virtual std::unique_ptr<CellDrop> begin_drop(std::int32_t sequence, const Dropping& dropping);
  // Forgets some of what only earlier lengths than its current one need, except for marks. Returns
  // whether that freed rows.
  virtual bool thin(std::int32_t /*sequence*/, std::span<const std::int64_t> /*marks*/) {
    return false;
  }

  // The rows of every state to save for a sequence of `length` tokens, in order: all that
  // resume_point() relies on.
  virtual std::vector<std::int32_t> saved_rows(std::int32_t sequence,
                                               std::int64_t length) const = 0;
  // The lengths, in ascending order, after which the sequence had the states in these rows; empty
  // for kinds that do not keep states of whole sequences.
  virtual std::vector<std::int64_t> saved_lengths(std::int32_t /*sequence*/,
                                                  std::int64_t /*length*/) const {
    return {};
  }
  // The tokens of one of saved_rows(); 0 for kinds that have saved_lengths(), or no states.
  virtual std::int64_t tokens_per_row() const { return 0; }
  // What was saved of a sequence for each state: `n_rows`, at least row_count(). `lengths` are
  // saved_lengths(), or empty if only the last row was saved.
  struct Saved {
    std::int64_t length = 0, n_rows = 0;
    std::span<const std::int64_t> lengths = {};
  };
  // How many rows a sequence of that length needs at least, and can have at most without
  // Saved::lengths.
  struct RowCount {
    std::int64_t least = 0, most = 0;
  };
  virtual RowCount row_count(std::int64_t length) const = 0;
  // The largest length up to this one to which it can be restored, or 0. REQUIRES: 0 <= length <=
  // saved.length.
  virtual std::int64_t restore_point(std::int64_t length, const Saved& saved) const = 0;
  // The range of saved rows, counted from the first, that a sequence of only `length` tokens gets.
  // REQUIRES: restore_point(length, saved) == length.
  struct Range {
    std::int64_t begin = 0, end = 0;
  };
  virtual Range needed_rows(std::int64_t length, const Saved& saved) const = 0;
  // replace() clears the sequence and reserves `n_rows` rows for `length` tokens: those of a range
  // of needed_rows(), or row_count().least. Returns where they go; -1: nowhere, the row is not
  // kept. `lengths`: theirs, of Saved::lengths. REQUIRES: can_replace().
  virtual bool can_replace(std::int32_t sequence, std::int64_t n_rows) const = 0;
  virtual std::vector<std::int32_t> replace(std::int32_t sequence, std::int64_t length,
                                            std::int64_t n_rows,
                                            std::span<const std::int64_t> lengths) = 0;

  // The pool that its rows are from; null: they are not from one.
  virtual const BlockPool* pool() const { return nullptr; }
  StateStore& store() { return store_; }
  const StateStore& store() const { return store_; }

 protected:
  explicit SequenceMemory(StateStore store) : store_(std::move(store)) {}

 private:
  StateStore store_;
};

// The memory for a part of a graph's states. Throws Error if its kind is unknown.
std::unique_ptr<SequenceMemory> make_memory(const arch::MemoryPart& part,
                                            const MemoryLimits& limits, StateStore store);

}  // namespace weft::run
