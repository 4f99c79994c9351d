// Cells in blocks: one for every position, for those within a window, or for every `stride`-th
// position.
#include <algorithm>

#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"

#include "memory/block_pool.h"
#include "memory/memory_kinds.h"

namespace weft::run {
namespace {

class CellMemory final : public SequenceMemory {
 public:
  CellMemory(const arch::MemoryPart& part, const MemoryLimits& limits, StateStore store)
      : SequenceMemory(std::move(store)),
        suffix_(part.suffix),
        window_(part.window),
        stride_(part.stride),
        per_sequence_(blocks_for((limits.context + stride_ - 1) / stride_)),
        pool_(part.n_rows),
        table_(static_cast<std::size_t>(limits.sequences * per_sequence_)),
        kept_(static_cast<std::size_t>(limits.sequences)) {}

  std::vector<std::string> input_names() const override {
    std::vector<std::string> names{"table" + suffix_, "cells" + suffix_, "first" + suffix_};
    if (stride_ > 1) names.push_back("last" + suffix_);
    return names;
  }
  bool has_room(const Growth& g) const override {
    // A window has enough blocks for every step (arch/memory.cpp).
    return window_ > 0 || n_missing(in_cells(g)) <= pool_.n_free();
  }
  std::int64_t free_positions() const override {
    return window_ > 0 ? SequenceMemory::free_positions()
                       : pool_.n_free() * kCellsPerBlock * stride_;
  }
  std::string room() const override {
    return fmt::format("{} of the {} shared blocks of {} positions are free", pool_.n_free(),
                       pool_.n_blocks(), kCellsPerBlock * stride_);
  }
  const Growth* reserve(std::span<const Growth> step) override {
    const auto failed =
        std::ranges::find_if(step, [&](const Growth& g) { return !grow(in_cells(g)); });
    return failed == step.end() ? nullptr : &*failed;
  }
  void write_inputs(std::span<const TokenPlace> tokens, std::span<const Growth> step,
                    std::span<const InputValues> inputs) override;
  void append(std::span<const Growth> step) override;
  void rollback(std::span<const Growth> step) override {
    for (const Growth& g : step) cut(g.sequence, blocks_of(g.from));
  }

  std::int64_t resume_point(std::int32_t sequence, std::int64_t length) const override {
    return oldest(length) / kCellsPerBlock >= kept(sequence).begin ? length : 0;
  }
  void truncate(std::int32_t sequence, std::int64_t length) override {
    cut(sequence, blocks_of(length));
  }
  void copy(std::int32_t from, std::int32_t to, std::int64_t length) override;

  std::vector<std::int32_t> saved_rows(std::int32_t sequence, std::int64_t length) const override;
  Range needed_rows(std::int64_t length, std::int64_t saved_length) const override;
  bool can_replace(std::int32_t sequence, std::int64_t length) const override;
  std::vector<std::int32_t> replace(std::int32_t sequence, std::int64_t length) override;

 private:
  // The blocks that a sequence has, by number within it.
  struct Kept {
    std::int64_t begin = 0, end = 0;
  };

  Kept& kept(std::int32_t sequence) { return kept_[static_cast<std::size_t>(sequence)]; }
  const Kept& kept(std::int32_t sequence) const {
    return kept_[static_cast<std::size_t>(sequence)];
  }
  std::size_t at(std::int32_t sequence, std::int64_t n) const {
    return static_cast<std::size_t>(sequence * per_sequence_ + n);
  }
  std::int32_t& block(std::int32_t sequence, std::int64_t n) { return table_[at(sequence, n)]; }
  std::int32_t block(std::int32_t sequence, std::int64_t n) const {
    return table_[at(sequence, n)];
  }
  // Where the nth cell of a sequence is.
  std::int32_t place(std::int32_t sequence, std::int64_t n) const {
    const std::int64_t lies_in = block(sequence, n / kCellsPerBlock);
    return static_cast<std::int32_t>(lies_in * kCellsPerBlock + n % kCellsPerBlock);
  }
  // The blocks of the cells that `length` positions fill.
  std::int64_t blocks_of(std::int64_t length) const { return blocks_for(length / stride_); }
  Growth in_cells(const Growth& g) const { return {g.sequence, g.from / stride_, g.to / stride_}; }
  // The oldest position that the token at position `length` attends to.
  std::int64_t oldest(std::int64_t length) const {
    return window_ == 0 ? 0 : std::max<std::int64_t>(0, length - window_ + 1);
  }
  // Whether the step writes to a block that another sequence shares. Growths are in cells from here
  // on.
  bool must_copy(const Growth& g) const {
    return g.from % kCellsPerBlock != 0 && g.to > g.from &&
           pool_.is_shared(block(g.sequence, g.from / kCellsPerBlock));
  }
  std::int64_t n_missing(const Growth& g) const {
    return std::max<std::int64_t>(0, blocks_for(g.to) - kept(g.sequence).end) + must_copy(g);
  }
  bool grow(const Growth& g);
  void cut(std::int32_t sequence, std::int64_t n_blocks);

  const std::string suffix_;
  const std::int64_t window_;        // positions that a token attends to; 0: all
  const std::int64_t stride_;        // positions per cell; 1 with a window
  const std::int64_t per_sequence_;  // entries of the table
  BlockPool pool_;
  std::vector<std::int32_t> table_;  // [sequences][per_sequence_]
  std::vector<Kept> kept_;           // by sequence
};

bool CellMemory::grow(const Growth& g) {
  if (must_copy(g)) {
    std::int32_t& shared = block(g.sequence, g.from / kCellsPerBlock);
    const std::int32_t own = pool_.take();
    if (own == BlockPool::kNone) return false;
    store().copy(shared, own);
    pool_.release(shared);
    shared = own;
  }
  for (std::int64_t& end = kept(g.sequence).end; end < blocks_for(g.to); ++end) {
    const std::int32_t fresh = pool_.take();
    if (fresh == BlockPool::kNone) return false;
    block(g.sequence, end) = fresh;
  }
  return true;
}

// Truncates to the first n_blocks by number.
void CellMemory::cut(std::int32_t sequence, std::int64_t n_blocks) {
  Kept& has = kept(sequence);
  while (has.end > std::max(n_blocks, has.begin)) pool_.release(block(sequence, --has.end));
  if (n_blocks == 0) has = {};
}

void CellMemory::write_inputs(std::span<const TokenPlace> tokens, std::span<const Growth> step,
                              std::span<const InputValues> inputs) {
  const InputValues table = inputs[0], cells = inputs[1], first = inputs[2],
                    last = stride_ > 1 ? inputs[3] : InputValues();
  for (const Growth& g : step) {
    if (table.empty()) break;
    const Kept& has = kept(g.sequence);
    const std::size_t begin = at(g.sequence, has.begin), end = at(g.sequence, has.end);
    std::copy(&table_[begin], table_.data() + end, table.begin() + std::ptrdiff_t(begin));
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto& [sequence, position] = tokens[i];
    const std::int64_t n_complete = (position + 1) / stride_;
    if (!cells.empty()) cells[i] = (position + 1) % stride_ ? -1 : place(sequence, n_complete - 1);
    if (!first.empty()) first[i] = static_cast<std::int32_t>(oldest(position));
    if (!last.empty()) last[i] = static_cast<std::int32_t>(n_complete - 1);
  }
}

// Blocks that are no longer within the window are released, except for those needed to remove the
// last kGuaranteedRewind tokens.
void CellMemory::append(std::span<const Growth> step) {
  for (const Growth& g : step) {
    const std::int64_t keep = std::max<std::int64_t>(0, oldest(g.to) - arch::kGuaranteedRewind);
    Kept& has = kept(g.sequence);
    for (; has.begin < keep / kCellsPerBlock; ++has.begin)
      pool_.release(block(g.sequence, has.begin));
  }
}

void CellMemory::copy(std::int32_t from, std::int32_t to, std::int64_t length) {
  const Kept& has = kept(from);
  const std::int64_t end = blocks_of(length);
  for (std::int64_t n = has.begin; n < end; ++n) pool_.share(block(from, n));
  cut(to, 0);
  std::copy_n(&table_[at(from, 0)], end, &table_[at(to, 0)]);
  kept(to) = {std::min(has.begin, end), end};
}

std::vector<std::int32_t> CellMemory::saved_rows(std::int32_t sequence, std::int64_t length) const {
  const auto begin = table_.begin() + std::ptrdiff_t(at(sequence, 0));
  return {begin + oldest(length) / kCellsPerBlock, begin + blocks_of(length)};
}

SequenceMemory::Range CellMemory::needed_rows(std::int64_t length,
                                              std::int64_t saved_length) const {
  const std::int64_t saved = oldest(saved_length) / kCellsPerBlock;
  const std::int64_t begin = oldest(length) / kCellsPerBlock - saved;
  if (length == 0) return {};
  return {begin, blocks_of(length) - saved, begin >= 0};
}

bool CellMemory::can_replace(std::int32_t sequence, std::int64_t length) const {
  const Kept& has = kept(sequence);
  std::int64_t n_free = pool_.n_free();
  for (std::int64_t n = has.begin; n < has.end; ++n) n_free += !pool_.is_shared(block(sequence, n));
  return blocks_of(length) - oldest(length) / kCellsPerBlock <= n_free;
}

std::vector<std::int32_t> CellMemory::replace(std::int32_t sequence, std::int64_t length) {
  const std::int64_t begin = oldest(length) / kCellsPerBlock, end = blocks_of(length);
  cut(sequence, 0);
  for (std::int64_t n = begin; n < end; ++n) block(sequence, n) = pool_.take();
  kept(sequence) = {std::min(begin, end), end};
  return saved_rows(sequence, length);
}

}  // namespace

std::unique_ptr<SequenceMemory> make_cell_memory(const arch::MemoryPart& part,
                                                 const MemoryLimits& limits, StateStore store) {
  return std::make_unique<CellMemory>(part, limits, std::move(store));
}

}  // namespace weft::run
