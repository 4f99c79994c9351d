// Cells in blocks: one for every position, for those within a window, or for every `stride`-th
// position.
#include <algorithm>

#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"

#include "memory/block_table.h"
#include "memory/cell_drop.h"
#include "memory/memory_kinds.h"

namespace weft::run {
namespace {

// Which blocks a sequence of some length has and needs.
struct CellLayout {
  std::int64_t window = 0;  // positions that a token attends to; 0: all
  std::int64_t stride = 1;  // positions per cell; 1 with a window

  // The blocks of the cells that `length` positions fill.
  std::int64_t blocks_of(std::int64_t length) const { return blocks_for(length / stride); }
  Growth in_cells(const Growth& g) const { return {g.sequence, g.from / stride, g.to / stride}; }
  // The oldest position that the token at position `length` attends to.
  std::int64_t oldest(std::int64_t length) const {
    return window == 0 ? 0 : std::max<std::int64_t>(0, length - window + 1);
  }
  // The block of that position.
  std::int64_t first_block(std::int64_t length) const { return oldest(length) / kCellsPerBlock; }
  // The first block that a sequence of this length keeps: the last kGuaranteedRewind tokens can be
  // removed.
  std::int64_t first_kept(std::int64_t length) const {
    return std::max<std::int64_t>(0, oldest(length) - arch::kGuaranteedRewind) / kCellsPerBlock;
  }
};

class CellMemory final : public SequenceMemory {
 public:
  CellMemory(const arch::MemoryPart& part, const MemoryLimits& limits, StateStore store)
      : SequenceMemory(std::move(store)),
        suffix_(part.suffix),
        layout_{.window = part.window, .stride = part.stride},
        keeps_all_(part.window == 0 || part.kept_rows > 0),
        table_(limits, blocks_for((limits.context + layout_.stride - 1) / layout_.stride),
               part.n_rows),
        lengths_(static_cast<std::size_t>(limits.all())) {}

  std::vector<std::string> input_names() const override {
    std::vector<std::string> names{"table" + suffix_, "cells" + suffix_, "first" + suffix_};
    if (layout_.stride > 1) names.push_back("last" + suffix_);
    return names;
  }
  bool has_room(const Growth& g) const override {
    // A window has enough blocks for every step (arch/src/decoder/memory.cpp).
    return layout_.window > 0 || table_.n_missing(layout_.in_cells(g)) <= table_.pool().n_free();
  }
  std::int64_t free_positions() const override {
    return layout_.window > 0 ? SequenceMemory::free_positions()
                              : table_.pool().n_free() * kCellsPerBlock * layout_.stride;
  }
  std::int64_t spare_positions() const override {
    return keeps_all_ ? table_.pool().n_free() * kCellsPerBlock * layout_.stride : free_positions();
  }
  std::string room() const override {
    return fmt::format("{} of the {} shared blocks of {} positions are free",
                       table_.pool().n_free(), table_.pool().n_blocks(),
                       kCellsPerBlock * layout_.stride);
  }
  const Growth* reserve(std::span<const Growth> step) override {
    const auto failed = std::ranges::find_if(
        step, [&](const Growth& g) { return !table_.grow(layout_.in_cells(g), store()); });
    return failed == step.end() ? nullptr : &*failed;
  }
  void write_inputs(std::span<const TokenPlace> tokens, std::span<const Growth> step,
                    std::span<const InputValues> inputs) override;
  void append(std::span<const Growth> step) override;
  void rollback(std::span<const Growth> step) override {
    for (const Growth& g : step) table_.cut(g.sequence, layout_.blocks_of(g.from));
  }

  std::int64_t resume_point(std::int32_t sequence, std::int64_t length) const override;
  void truncate(std::int32_t sequence, std::int64_t n) override {
    table_.cut(sequence, layout_.blocks_of(n));
    lengths_[static_cast<std::size_t>(sequence)] = n;
  }
  void copy(std::int32_t from, std::int32_t to, std::int64_t n) override {
    table_.share(from, to, layout_.blocks_of(n));
    lengths_[static_cast<std::size_t>(to)] = n;
  }
  bool thin(std::int32_t sequence, std::span<const std::int64_t> marks) override;

  std::vector<std::int32_t> saved_rows(std::int32_t sequence, std::int64_t length) const override {
    const std::int64_t end = layout_.blocks_of(length);
    std::int64_t begin = std::min(table_.kept(sequence).begin, end), missing = 0;
    if (!table_.has(sequence, begin, end, missing)) begin = missing + 1;
    const auto rows = table_.blocks(sequence, begin, end);
    return {rows.begin(), rows.end()};
  }
  std::int64_t tokens_per_row() const override { return kCellsPerBlock * layout_.stride; }
  RowCount row_count(std::int64_t length) const override {
    const std::int64_t all = layout_.blocks_of(length);
    return {all - layout_.first_block(length), all};
  }
  std::int64_t restore_point(std::int64_t length, const Saved& saved) const override {
    return layout_.first_block(length) >= layout_.blocks_of(saved.length) - saved.n_rows ? length
                                                                                         : 0;
  }
  Range needed_rows(std::int64_t length, const Saved& saved) const override;
  const BlockPool* pool() const override { return &table_.pool(); }
  std::unique_ptr<CellDrop> begin_drop(std::int32_t sequence, const Dropping& dropping) override {
    const std::int64_t length = lengths_[static_cast<std::size_t>(sequence)];
    const std::int64_t n_saved = std::ssize(saved_rows(sequence, length));
    const CellDrop::Of of{table_, store(), sequence, layout_.window > 0,
                          layout_.blocks_of(length) - n_saved};
    return std::make_unique<CellDrop>(of, dropping);
  }
  bool can_replace(std::int32_t sequence, std::int64_t n_rows) const override {
    return table_.can_replace(sequence, n_rows);
  }
  std::vector<std::int32_t> replace(std::int32_t sequence, std::int64_t n, std::int64_t n_rows,
                                    std::span<const std::int64_t>) override {
    table_.replace(sequence, {layout_.blocks_of(n) - n_rows, layout_.blocks_of(n)});
    lengths_[static_cast<std::size_t>(sequence)] = n;
    return saved_rows(sequence, n);
  }

 private:
  const std::string suffix_;
  const CellLayout layout_;
  const bool keeps_all_;  // until thin(), also what no longer is within the window
  BlockTable table_;
  std::vector<std::int64_t> lengths_;  // by sequence
};

bool CellMemory::thin(std::int32_t sequence, std::span<const std::int64_t> marks) {
  if (layout_.window == 0) return false;
  const auto is_needed = [&](std::int64_t block) {
    return std::ranges::any_of(marks, [&](std::int64_t mark) {
      return layout_.first_block(mark) <= block && block < layout_.blocks_of(mark);
    });
  };
  const std::int64_t length = lengths_[static_cast<std::size_t>(sequence)];
  return table_.release_first(sequence, layout_.first_kept(length), is_needed) > 0;
}

std::int64_t CellMemory::resume_point(std::int32_t sequence, std::int64_t length) const {
  for (std::int64_t missing = 0;;) {
    if (table_.has(sequence, layout_.first_block(length), layout_.blocks_of(length), missing))
      return length;
    length = missing * kCellsPerBlock;
  }
}

void CellMemory::write_inputs(std::span<const TokenPlace> tokens, std::span<const Growth> step,
                              std::span<const InputValues> inputs) {
  const InputValues table = inputs[0], cells = inputs[1], first = inputs[2],
                    last = layout_.stride > 1 ? inputs[3] : InputValues();
  for (const Growth& g : step) {
    if (table.empty()) break;
    table_.write(g.sequence, table);
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto& [sequence, position] = tokens[i];
    const std::int64_t n_complete = (position + 1) / layout_.stride;
    if (!cells.empty())
      cells[i] = (position + 1) % layout_.stride ? -1 : table_.place(sequence, n_complete - 1);
    if (!first.empty()) first[i] = static_cast<std::int32_t>(layout_.oldest(position));
    if (!last.empty()) last[i] = static_cast<std::int32_t>(n_complete - 1);
  }
}

// Releases blocks that are no longer within the window, unless they stay as long as there is room.
void CellMemory::append(std::span<const Growth> step) {
  for (const Growth& g : step) {
    lengths_[static_cast<std::size_t>(g.sequence)] = g.to;
    if (!keeps_all_) table_.release_first(g.sequence, layout_.first_kept(g.to));
  }
}

SequenceMemory::Range CellMemory::needed_rows(std::int64_t length, const Saved& saved) const {
  if (length == 0) return {};
  const std::int64_t first_saved = layout_.blocks_of(saved.length) - saved.n_rows;
  const bool keeps_all =
      keeps_all_ && layout_.blocks_of(length) - first_saved <= table_.pool().n_free();
  const std::int64_t begin =
      keeps_all ? first_saved : std::max(layout_.first_kept(length), first_saved);
  return {begin - first_saved, layout_.blocks_of(length) - first_saved};
}

}  // namespace

std::unique_ptr<SequenceMemory> make_cell_memory(const arch::MemoryPart& part,
                                                 const MemoryLimits& limits, StateStore store) {
  return std::make_unique<CellMemory>(part, limits, std::move(store));
}

}  // namespace weft::run
