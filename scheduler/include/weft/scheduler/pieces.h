#pragma once
// A plan as a flow graph: its pieces are the nodes, its joins the edges.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/scheduler/plan.h"

namespace weft {

// What one worker does without meeting another: a lane's part of a stage, one of the shares that
// this part is cut into, or, in a stage of several shares, what the lane repeats (Split::copies).
struct Piece {
  std::int32_t stage = 0, lane = 0;
  std::int32_t share = 0;  // of the lane in this stage
  bool copies = false;
  std::vector<std::size_t> steps;  // of Plan::steps, in the order in which they run

  std::string name() const;  // "stage 3 lane 0", "stage 3 lane 0 share 2", "stage 3 lane 0 copies"
  friend bool operator==(const Piece&, const Piece&) = default;
};

// Pieces that may run at the same time, by lane.
using PieceGroup = std::vector<Piece>;

// A plan's pieces in groups: every piece of a group waits for all pieces of the group before it.
// Pieces without steps are left out; there is a group for every stage that has any, and two for a
// stage with copies and several shares, since shares read the copies of the worker they run on.
std::vector<PieceGroup> pieces_of(const Plan& plan);

// Whether two groups meet in a node of its own between them, or each piece of the one has an edge
// to each of the other: whatever takes fewer messages.
inline bool meet_in_a_node(std::size_t pieces_before, std::size_t pieces_after) {
  return pieces_before * pieces_after > pieces_before + pieces_after;
}

}  // namespace weft
