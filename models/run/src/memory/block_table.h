#pragma once
// Which blocks of a pool hold the cells of each sequence, by number within it. Sequences share
// blocks until one of them writes there. A sequence may have released its first blocks.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/ops/attention/cache_cells.h"

#include "memory/block_pool.h"
#include "memory/sequence_memory.h"

namespace weft::run {

class BlockTable {
 public:
  // The blocks that a sequence has.
  struct Kept {
    std::int64_t begin = 0, end = 0;
  };

  // `n_blocks` in all, at most `per_sequence` of them in one sequence.
  BlockTable(std::int64_t n_sequences, std::int64_t per_sequence, std::int64_t n_blocks)
      : per_sequence_(per_sequence),
        pool_(n_blocks),
        table_(static_cast<std::size_t>(n_sequences * per_sequence)),
        kept_(static_cast<std::size_t>(n_sequences)) {}

  const BlockPool& pool() const { return pool_; }
  const Kept& kept(std::int32_t sequence) const {
    return kept_[static_cast<std::size_t>(sequence)];
  }
  // The blocks first .. end - 1 of a sequence.
  std::span<const std::int32_t> blocks(std::int32_t sequence, std::int64_t first,
                                       std::int64_t end) const {
    return std::span(table_).subspan(at(sequence, first), static_cast<std::size_t>(end - first));
  }
  // Where the nth cell of a sequence is.
  std::int32_t place(std::int32_t sequence, std::int64_t n) const {
    const std::int64_t lies_in = table_[at(sequence, n / kCellsPerBlock)];
    return static_cast<std::int32_t>(lies_in * kCellsPerBlock + n % kCellsPerBlock);
  }
  // Copies the blocks of a sequence to their places in `table`, which has the table's shape,
  // [sequences][per_sequence].
  void write(std::int32_t sequence, std::span<std::int32_t> table) const {
    const Kept& has = kept(sequence);
    const auto from = blocks(sequence, has.begin, has.end);
    std::ranges::copy(from, table.begin() + std::ptrdiff_t(at(sequence, has.begin)));
  }

  // The number of blocks that grow() takes. Growths are in cells.
  std::int64_t n_missing(const Growth& g) const;
  // Takes blocks for a growth. A shared block that it writes to is replaced by a copy in `store`.
  // Returns false if the pool has not enough blocks; those that were taken are kept.
  bool grow(const Growth& g, StateStore& store);
  // Whether the sequence could get `n` blocks in place of those that it has.
  bool can_replace(std::int32_t sequence, std::int64_t n) const;
  // Replaces the blocks of a sequence by new ones. REQUIRES: can_replace().
  void replace(std::int32_t sequence, Kept with);
  // Lets `to` share the first blocks of `from`.
  void share(std::int32_t from, std::int32_t to, std::int64_t n_blocks);
  // Release blocks: all but the first ones by number, and the first ones.
  void cut(std::int32_t sequence, std::int64_t n_blocks);
  void release_first(std::int32_t sequence, std::int64_t n_blocks);

 private:
  std::size_t at(std::int32_t sequence, std::int64_t n) const {
    return static_cast<std::size_t>(sequence * per_sequence_ + n);
  }
  std::int32_t& block(std::int32_t sequence, std::int64_t n) { return table_[at(sequence, n)]; }
  // Whether a growth writes to a block that another sequence shares.
  bool must_copy(const Growth& g) const {
    return g.from % kCellsPerBlock != 0 && g.to > g.from &&
           pool_.is_shared(table_[at(g.sequence, g.from / kCellsPerBlock)]);
  }

  const std::int64_t per_sequence_;
  BlockPool pool_;
  std::vector<std::int32_t> table_;  // [sequences][per_sequence_]
  std::vector<Kept> kept_;           // by sequence
};

}  // namespace weft::run
