#pragma once
// Which blocks of a pool hold the cells of each sequence, by number within it. Sequences share
// blocks until one of them writes there. A sequence may have released some of its blocks.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "weft/ops/attention/cache_cells.h"

#include "memory/block_pool.h"
#include "memory/memory_limits.h"
#include "memory/state_store.h"
#include "memory/step_tokens.h"

namespace weft::run {

class BlockTable {
 public:
  // The blocks that a sequence has, without those between them that it released.
  struct Kept {
    std::int64_t begin = 0, end = 0;
  };

  // `n_blocks` in all, at most `per_sequence` of them in one sequence. Sequences that do not grow
  // take memory for the blocks that they have.
  BlockTable(const MemoryLimits& limits, std::int64_t per_sequence, std::int64_t n_blocks)
      : per_sequence_(per_sequence),
        pool_(n_blocks),
        table_(static_cast<std::size_t>(limits.all())),
        kept_(table_.size()) {
    for (std::int64_t s = 0; s < limits.sequences; ++s)
      row(s).assign(static_cast<std::size_t>(per_sequence), BlockPool::kNone);
  }

  const BlockPool& pool() const { return pool_; }
  const Kept& kept(std::int32_t sequence) const {
    return kept_[static_cast<std::size_t>(sequence)];
  }
  // The blocks first .. end - 1 of a sequence.
  std::span<const std::int32_t> blocks(std::int32_t sequence, std::int64_t first,
                                       std::int64_t end) const {
    return std::span(row(sequence))
        .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
  }
  // Where the nth cell of a sequence is.
  std::int32_t place(std::int32_t sequence, std::int64_t n) const {
    const std::int64_t lies_in = block(sequence, n / kCellsPerBlock);
    return static_cast<std::int32_t>(lies_in * kCellsPerBlock + n % kCellsPerBlock);
  }
  // Copies the blocks of a sequence to their places in `table`, which has the table's shape,
  // [sequences][per_sequence].
  void write(std::int32_t sequence, std::span<std::int32_t> table) const {
    const Kept& has = kept(sequence);
    const auto from = blocks(sequence, has.begin, has.end);
    std::ranges::copy(from, table.begin() + sequence * per_sequence_ + has.begin);
  }
  // Whether the sequence has all of the blocks first .. end - 1; if not, the last one that it lacks
  // goes to `missing`.
  bool has(std::int32_t sequence, std::int64_t first, std::int64_t end,
           std::int64_t& missing) const;

  // The number of blocks that grow() takes. Growths are in cells.
  std::int64_t n_missing(const Growth& g) const;
  // Takes blocks for a growth. A shared block that it writes to is replaced by a copy in `store`.
  // Returns false if the pool has not enough blocks; those that were taken are kept.
  bool grow(const Growth& g, StateStore& store);
  // Replaces those of the blocks first .. end - 1 that others share by copies in `store`. Returns
  // false if the pool has not enough blocks; those that were copied are kept.
  bool own(std::int32_t sequence, std::int64_t first, std::int64_t end, StateStore& store);
  // The blocks of `with`, which become those of with.begin - by on, are all that the sequence
  // keeps. REQUIRES: it has them, and 0 <= by <= with.begin.
  void shift(std::int32_t sequence, Kept with, std::int64_t by);
  // Whether the sequence could get `n` blocks in place of those that it has.
  bool can_replace(std::int32_t sequence, std::int64_t n) const;
  // Replaces the blocks of a sequence by new ones. REQUIRES: can_replace().
  void replace(std::int32_t sequence, Kept with);
  // Lets `to` share the first blocks of `from`.
  void share(std::int32_t from, std::int32_t to, std::int64_t n_blocks);
  // Releases all blocks but the first ones by number.
  void cut(std::int32_t sequence, std::int64_t n_blocks);
  // Releases those of the first blocks that are not needed. Returns how many became free.
  template <class IsNeeded>
  std::int64_t release_first(std::int32_t sequence, std::int64_t n_blocks, IsNeeded is_needed);
  void release_first(std::int32_t sequence, std::int64_t n_blocks) {
    release_first(sequence, n_blocks, [](std::int64_t) { return false; });
  }

 private:
  std::vector<std::int32_t>& row(std::int64_t sequence) {
    return table_[static_cast<std::size_t>(sequence)];
  }
  const std::vector<std::int32_t>& row(std::int64_t sequence) const {
    return table_[static_cast<std::size_t>(sequence)];
  }
  std::int32_t& block(std::int32_t sequence, std::int64_t n) {
    return row(sequence)[static_cast<std::size_t>(n)];
  }
  std::int32_t block(std::int32_t sequence, std::int64_t n) const {
    return row(sequence)[static_cast<std::size_t>(n)];
  }
  void make_row(std::int32_t sequence, std::int64_t n_blocks);  // for at least so many
  void release(std::int32_t& block) {
    if (block != BlockPool::kNone) pool_.release(std::exchange(block, BlockPool::kNone));
  }
  // Whether a growth writes to a block that another sequence shares.
  bool must_copy(const Growth& g) const {
    return g.from % kCellsPerBlock != 0 && g.to > g.from &&
           pool_.is_shared(block(g.sequence, g.from / kCellsPerBlock));
  }

  const std::int64_t per_sequence_;
  BlockPool pool_;
  std::vector<std::vector<std::int32_t>> table_;  // by sequence; kNone: released
  std::vector<Kept> kept_;                        // by sequence
};

template <class IsNeeded>
std::int64_t BlockTable::release_first(std::int32_t sequence, std::int64_t n_blocks,
                                       IsNeeded is_needed) {
  Kept& has = kept_[static_cast<std::size_t>(sequence)];
  const std::int64_t n_free = pool_.n_free();
  for (std::int64_t n = has.begin; n < std::min(n_blocks, has.end); ++n)
    if (!is_needed(n)) release(block(sequence, n));
  while (has.begin < has.end && block(sequence, has.begin) == BlockPool::kNone) ++has.begin;
  return pool_.n_free() - n_free;
}

}  // namespace weft::run
