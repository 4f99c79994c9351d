#pragma once
// Maps two tokens to the token that they merge into, and its rank: a hash table with open
// addressing.

#include <bit>
#include <cstdint>
#include <vector>

#include "weft/base/keyed_hash.h"
#include "weft/tokenize/vocabulary.h"

namespace weft::tokenize {

class MergeTable {
 public:
  struct Merge {
    std::int32_t rank = -1;  // -1: the two do not join
    TokenId joint = kNoToken;
  };

  explicit MergeTable(std::size_t n_merges)
      : factor_(keyed_hash("merges") | 1), slots_(std::bit_ceil(2 * n_merges + 2)) {}

  // Ignored if the pair was added before. REQUIRES: at most n_merges pairs are added.
  void add(TokenId left, TokenId right, Merge merge) {
    Slot& slot = slots_.data()[slot_of(left, right)];
    if (slot.merge.rank < 0) slot = {left, right, merge};
  }
  Merge find(TokenId left, TokenId right) const {
    return slots_.data()[slot_of(left, right)].merge;
  }

 private:
  struct Slot {
    TokenId left = kNoToken;
    TokenId right = kNoToken;
    Merge merge;
  };

  std::size_t slot_of(TokenId left, TokenId right) const {
    const std::uint64_t pair =
        std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = static_cast<std::size_t>((pair * factor_) >> 32) & mask;
    const Slot* const slots =
        slots_.data();  // without the checks of operator[]: the mask bounds it
    while (slots[slot].merge.rank >= 0 && (slots[slot].left != left || slots[slot].right != right))
      slot = (slot + 1) & mask;
    return slot;
  }

  std::uint64_t factor_;  // random: the pairs of a file cannot be made to share a place
  std::vector<Slot> slots_;
};

}  // namespace weft::tokenize
