#include "memory/cell_drop.h"

#include <algorithm>

#include "weft/ops/attention/cache_cells.h"

#include "memory/sequence_memory.h"

namespace weft::run {

std::unique_ptr<CellDrop> SequenceMemory::begin_drop(std::int32_t, const Dropping&) {
  return nullptr;
}

CellDrop::CellDrop(const Of& of, const Dropping& dropping)
    : of_(of), dropping_(dropping), begin_(dropping.same) {
  const std::int64_t end = blocks_for(dropping.length);
  kept_ = {0, end};
  if (of.has_window) {
    const TokenRange& last = dropping.kept.back();
    const std::int64_t by = last.end - dropping.length;
    const std::int64_t first =
        blocks_for(std::max(dropping.length - last.size(), of.first_block * kCellsPerBlock - by));
    n_blocks_ = by / kCellsPerBlock;
    begin_ = first * kCellsPerBlock;
    kept_ = {first + n_blocks_, end + n_blocks_};
  }
  written_ = begin_ / kCellsPerBlock + n_blocks_;
}

std::vector<CellDrop::Move> CellDrop::moves() const {
  std::vector<Move> moves;
  std::int64_t to = 0;
  for (const auto& [begin, end] : dropping_.kept) {
    for (std::int64_t from = begin; from < end; ++from, ++to)
      if (to >= begin_)
        moves.push_back({of_.table.place(of_.sequence, from),
                         of_.table.place(of_.sequence, to + n_blocks_ * kCellsPerBlock),
                         static_cast<std::int32_t>(to - from)});
  }
  return moves;
}

}  // namespace weft::run
