#pragma once
// How a sequence loses tokens in one memory of cells: own(), then the moves, then commit(). Until
// then nothing changes that can be read.
//
// Without a window, blocks stay, and so do the first tokens. With one, only cells of the last range
// are needed: its blocks take the places of earlier ones in the table, and the cells move within
// them.

#include <cstdint>
#include <vector>

#include "memory/block_table.h"
#include "memory/per_sequence.h"
#include "memory/state_store.h"

namespace weft::run {

class CellDrop {
 public:
  struct Of {
    BlockTable& table;
    StateStore& store;
    std::int32_t sequence = 0;
    bool has_window = false;
    std::int64_t first_block = 0;  // it has all from here on
  };
  // All outlive it. REQUIRES: a cell for each position.
  CellDrop(const Of& of, const Dropping& dropping);

  // Copies blocks that others share and cells move to. Returns false if it lacks room.
  bool own() { return of_.table.own(of_.sequence, written_, kept_.end, of_.store); }
  // The cells to move, in an order in which none is overwritten before it has moved.
  struct Move {
    std::int32_t from = 0, to = 0;  // places
    std::int32_t by = 0;            // positions
  };
  std::vector<Move> moves() const;
  // They have moved. The sequence is then to be truncated.
  void commit() { of_.table.shift(of_.sequence, kept_, n_blocks_); }

 private:
  const Of of_;
  const Dropping dropping_;
  std::int64_t n_blocks_ = 0;  // by which blocks take earlier places
  std::int64_t begin_ = 0;     // the first position of which a cell moves
  std::int64_t written_ = 0;   // the first block that cells move to
  BlockTable::Kept kept_;      // both before they take them
};

}  // namespace weft::run
