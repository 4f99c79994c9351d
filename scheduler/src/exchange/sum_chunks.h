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
  int ranks = 1;  // members of the group

  std::int64_t begin(std::size_t chunk) const { return chunk > 0 ? ends[chunk - 1] : 0; }
  std::int64_t width(std::size_t chunk) const { return ends[chunk] - begin(chunk); }
  std::int64_t widest() const;
  // Whether that member of the group adds up this chunk of scattered sums.
  bool is_owner(int member, std::size_t chunk) const {
    return static_cast<int>(chunk % static_cast<std::size_t>(ranks)) == member;
  }
  // Chunks that one member sends to another: terms, and sums if they are scattered.
  std::int64_t n_sent(int from, int to) const;
};

// Rows of a chunk that go in one message.
struct Block {
  std::size_t chunk = 0;
  std::int64_t row = 0, rows = 0, col = 0, cols = 0;
};

// The blocks of a tensor with that many rows, chunk by chunk.
struct Blocks {
  const SumChunks& chunks;
  std::int64_t rows_per_message = 1;
  std::int64_t rows = 1;

  std::int64_t of_chunk() const { return (rows + rows_per_message - 1) / rows_per_message; }
  std::int64_t size() const { return of_chunk() * static_cast<std::int64_t>(chunks.ends.size()); }
  Block operator[](std::int64_t i) const;
};

// REQUIRES: ranks >= 1, rows >= 1, cols >= 1.
SumChunks sum_chunks(int ranks, std::int64_t rows, std::int64_t cols);

}  // namespace weft::scheduler
