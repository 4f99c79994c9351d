#pragma once
// A plan as a flow graph: its pieces are the nodes, and its joins are the edges.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/scheduler/plan.h"

namespace weft {

// Work that one worker does without synchronization: a lane's part of a stage, or one of the shares
// into which that part is divided, or, in a stage of several shares, the steps that every lane
// repeats (Split::copies).
struct Piece {
  std::int32_t stage = 0, lane = 0;
  std::int32_t share = 0;  // index among the shares of the lane in this stage
  bool copies = false;
  std::vector<std::size_t> steps;  // indices into Plan::steps, in the order in which they run

  std::string name() const;  // "stage 3 lane 0", "stage 3 lane 0 share 2", "stage 3 lane 0 copies"
  friend bool operator==(const Piece&, const Piece&) = default;
};

// Pieces that may run at the same time, ordered by lane.
using PieceGroup = std::vector<Piece>;

// A plan's pieces in groups: every piece of a group waits for all pieces of the previous group.
// Pieces without steps are omitted. Every stage has one group; a stage with copies and several
// shares has two, because shares read the copies of the worker they run on.
std::vector<PieceGroup> pieces_of(const Plan& plan);

// Whether two groups are connected through a join node. Otherwise each piece of one has an edge to
// each piece of the other. Chooses the variant with fewer messages.
inline bool needs_join_node(std::size_t pieces_before, std::size_t pieces_after) {
  return pieces_before * pieces_after > pieces_before + pieces_after;
}

}  // namespace weft
