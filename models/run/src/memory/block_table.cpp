#include "memory/block_table.h"

namespace weft::run {

std::int64_t BlockTable::n_missing(const Growth& g) const {
  return std::max<std::int64_t>(0, blocks_for(g.to) - kept(g.sequence).end) + must_copy(g);
}

bool BlockTable::has(std::int32_t sequence, std::int64_t first, std::int64_t end,
                     std::int64_t& missing) const {
  for (std::int64_t n = end; n-- > first;) {
    if (block(sequence, n) != BlockPool::kNone) continue;
    missing = n;
    return false;
  }
  return true;
}

bool BlockTable::grow(const Growth& g, StateStore& store) {
  if (must_copy(g)) {
    std::int32_t& shared = block(g.sequence, g.from / kCellsPerBlock);
    const std::int32_t own = pool_.take();
    if (own == BlockPool::kNone) return false;
    store.copy(shared, own);
    pool_.release(shared);
    shared = own;
  }
  for (std::int64_t& end = kept_[static_cast<std::size_t>(g.sequence)].end; end < blocks_for(g.to);
       ++end) {
    const std::int32_t fresh = pool_.take();
    if (fresh == BlockPool::kNone) return false;
    block(g.sequence, end) = fresh;
  }
  return true;
}

bool BlockTable::own(std::int32_t sequence, std::int64_t first, std::int64_t end,
                     StateStore& store) {
  for (std::int64_t n = first; n < end; ++n) {
    std::int32_t& shared = block(sequence, n);
    if (!pool_.is_shared(shared)) continue;
    const std::int32_t own = pool_.take();
    if (own == BlockPool::kNone) return false;
    store.copy(shared, own);
    pool_.release(shared);
    shared = own;
  }
  return true;
}

void BlockTable::shift(std::int32_t sequence, Kept with, std::int64_t by) {
  release_first(sequence, with.begin);
  cut(sequence, with.end);
  for (std::int64_t n = with.begin; n < with.end && by > 0; ++n)
    block(sequence, n - by) = std::exchange(block(sequence, n), BlockPool::kNone);
  kept_[static_cast<std::size_t>(sequence)] = {with.begin - by, with.end - by};
}

bool BlockTable::can_replace(std::int32_t sequence, std::int64_t n) const {
  const Kept& has = kept(sequence);
  std::int64_t n_free = pool_.n_free();
  for (const std::int32_t b : blocks(sequence, has.begin, has.end))
    n_free += b != BlockPool::kNone && !pool_.is_shared(b);
  return n <= n_free;
}

void BlockTable::replace(std::int32_t sequence, Kept with) {
  cut(sequence, 0);
  make_row(sequence, with.end);
  for (std::int64_t n = with.begin; n < with.end; ++n) block(sequence, n) = pool_.take();
  kept_[static_cast<std::size_t>(sequence)] = {std::min(with.begin, with.end), with.end};
}

void BlockTable::share(std::int32_t from, std::int32_t to, std::int64_t n_blocks) {
  const std::int64_t begin = std::min(kept(from).begin, n_blocks);
  for (const std::int32_t b : blocks(from, begin, n_blocks))
    if (b != BlockPool::kNone) pool_.share(b);
  cut(to, 0);
  make_row(to, n_blocks);
  std::ranges::copy(blocks(from, 0, n_blocks), row(to).begin());
  kept_[static_cast<std::size_t>(to)] = {begin, n_blocks};
}

void BlockTable::make_row(std::int32_t sequence, std::int64_t n_blocks) {
  std::vector<std::int32_t>& own = row(sequence);
  if (std::ssize(own) < n_blocks) own.resize(static_cast<std::size_t>(n_blocks), BlockPool::kNone);
}

void BlockTable::cut(std::int32_t sequence, std::int64_t n_blocks) {
  Kept& has = kept_[static_cast<std::size_t>(sequence)];
  while (has.end > std::max(n_blocks, has.begin)) release(block(sequence, --has.end));
  if (n_blocks > 0) return;
  has = {};
  if (std::ssize(row(sequence)) < per_sequence_) row(sequence) = {};  // it does not grow
}

}  // namespace weft::run
