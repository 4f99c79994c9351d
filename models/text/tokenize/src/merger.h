#pragma once
// Merges the symbols of a piece by the ranks of their pairs, the leftmost of equal pairs first, in
// O(n log n).

#include <cstdint>
#include <vector>

#include "merge_table.h"

namespace weft::tokenize {

// The buffers are reused between pieces. The table must outlive the merger.
class Merger {
 public:
  explicit Merger(const MergeTable& merges) : merges_(merges) {}

  void clear() { symbols_.clear(); }
  // kNoToken for a symbol that has no token.
  void add(TokenId id);
  // Merges, then takes(id) for the remaining symbols, in order.
  template <class Take>
  void merge(Take take) {
    if (symbols_.empty()) return;
    join_all();
    for (std::int32_t i = 0; i >= 0; i = at(i).next) take(at(i).id);
  }

 private:
  struct Symbol {
    std::int32_t previous;
    std::int32_t next;
    TokenId id;
  };
  struct Join {
    std::int32_t rank;
    std::int32_t left;
    TokenId left_id;  // with right_id: to check that the two symbols have not changed since
    TokenId right_id;
    TokenId joint;

    // Heap order: the best is the one that no other precedes.
    bool operator<(const Join& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };

  void join_all();
  void propose(std::int32_t left);
  // Unchecked: all indices are of symbols that were added.
  Symbol& at(std::int32_t i) { return symbols_.data()[i]; }

  const MergeTable& merges_;
  std::vector<Symbol> symbols_;
  std::vector<Join> heap_;
};

}  // namespace weft::tokenize
