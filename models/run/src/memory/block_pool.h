#pragma once
// Tracks which blocks of a pool are free, and how many owners the others have. Does not allocate
// after construction.

#include <cstdint>
#include <vector>

namespace weft::run {

class BlockPool {
 public:
  static constexpr std::int32_t kNone = -1;

  explicit BlockPool(std::int64_t n_blocks);

  // Takes the lowest free block, which then has one owner; kNone if none is free.
  std::int32_t take();
  // Add and remove an owner. REQUIRES: the block has an owner.
  void share(std::int32_t block);
  void release(std::int32_t block);

  bool is_shared(std::int32_t block) const { return owners(block) > 1; }
  std::int32_t owners(std::int32_t block) const { return owners_[index(block)]; }
  std::int64_t n_blocks() const { return static_cast<std::int64_t>(owners_.size()); }
  std::vector<std::int32_t> free_blocks() const;  // in ascending order
  std::int64_t n_free() const { return static_cast<std::int64_t>(free_.size()); }

 private:
  static std::size_t index(std::int32_t block) { return static_cast<std::size_t>(block); }

  std::vector<std::int32_t> owners_;  // by block
  // A heap with the lowest block on top, so that growing sequences get adjacent blocks.
  std::vector<std::int32_t> free_;
};

}  // namespace weft::run
