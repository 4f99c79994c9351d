#include "memory/block_pool.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace weft::run {

BlockPool::BlockPool(std::int64_t n_blocks)
    : owners_(static_cast<std::size_t>(n_blocks)), free_(owners_.size()) {
  std::iota(free_.begin(), free_.end(), 0);  // in order: a heap
}

std::int32_t BlockPool::take() {
  if (free_.empty()) return kNone;
  std::ranges::pop_heap(free_, std::greater());
  const std::int32_t block = free_.back();
  free_.pop_back();
  owners_[index(block)] = 1;
  return block;
}

void BlockPool::share(std::int32_t block) {
  ++owners_[index(block)];
}

std::vector<std::int32_t> BlockPool::free_blocks() const {
  std::vector<std::int32_t> blocks = free_;
  std::ranges::sort(blocks);
  return blocks;
}

void BlockPool::release(std::int32_t block) {
  if (--owners_[index(block)] > 0) return;
  free_.push_back(block);  // within the capacity of the constructor
  std::ranges::push_heap(free_, std::greater());
}

}  // namespace weft::run
