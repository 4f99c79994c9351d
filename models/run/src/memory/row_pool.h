#pragma once
// The rows of a pool as lists: which states a sequence has, by their lengths.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "memory/block_pool.h"

namespace weft::run {

// The state of a sequence after its first `length` tokens.
struct StateRow {
  std::int64_t length = 0;
  std::int32_t row = BlockPool::kNone;
};
using StateRowList = std::vector<StateRow>;  // by ascending length

// The last one of at most that length; null: there is none.
inline const StateRow* last_until(const StateRowList& rows, std::int64_t length) {
  const auto after = std::ranges::upper_bound(rows, length, {}, &StateRow::length);
  return after == rows.begin() ? nullptr : &*std::prev(after);
}

class RowPool : public BlockPool {
 public:
  using BlockPool::BlockPool;
  using BlockPool::take;

  // Appends a free row for a state; false: there is none.
  bool take(StateRowList& rows, std::int64_t length) {
    const std::int32_t row = take();
    if (row != kNone) rows.push_back({length, row});
    return row != kNone;
  }
  // Releases all but the first n.
  void release_after(StateRowList& rows, std::size_t n) {
    for (; rows.size() > n; rows.pop_back()) release(rows.back().row);
  }
  // Releases one of them.
  void drop(StateRowList& rows, std::size_t i) {
    release(rows[i].row);
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(i));
  }
};

}  // namespace weft::run
