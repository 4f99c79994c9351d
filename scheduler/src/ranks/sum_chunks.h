#pragma once
// How ranks exchange the terms of a sum (all_reduce). The same on all ranks of a plan: it depends
// on the bounds of shapes only.

#include <cstdint>
#include <vector>

namespace weft::scheduler {

struct SumChunks {
  // Ends of ranges of columns, which are exchanged one after the other: the terms of the first ones
  // are under way while the rest is computed. One range if there are few bytes.
  std::vector<std::int64_t> ends;
  // false: every rank sends its terms to all others and adds up everything. true: chunk c is added
  // up by number c % ranks of the group, which sends the sum to the others: fewer bytes, and a
  // message more to wait for.
  bool scattered = false;

  std::int64_t begin(std::size_t chunk) const { return chunk > 0 ? ends[chunk - 1] : 0; }
  std::int64_t width(std::size_t chunk) const { return ends[chunk] - begin(chunk); }
  std::int64_t widest() const;
};

// REQUIRES: ranks >= 1, rows >= 1, cols >= 1.
SumChunks sum_chunks(int ranks, std::int64_t rows, std::int64_t cols);

}  // namespace weft::scheduler
