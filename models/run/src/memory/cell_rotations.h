#pragma once
// How the cells of a model depend on the positions of their tokens, read from its graph: by a
// rotation of some elements (rope), or not at all. Then they can be taken for the same tokens at
// another position. Everything else that computes with positions rules that out.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/ops/positions/rope.h"

namespace weft::run {

// A rotation of R of the elements of each head, from `begin` on.
struct CellRotation {
  std::int64_t begin = 0;
  RopePairs pairs = RopePairs::adjacent;
  NodeId angles = kNoNode;  // the node of rope_angles
};

struct CellRotations {
  std::string why_not;  // cells cannot be taken; "": they can
  // By path of the state, how its cells are rotated; empty: they do not depend on the position.
  std::map<std::string, std::vector<CellRotation>> of_state;
  // By path of the state, the node that turned its cells after all rotations: its op is its own
  // inverse. Only states whose cells are both rotated and turned are here.
  std::map<std::string, NodeId> turn_of_state;
  // The states by which tokens are compared: those of the second layer that writes any. Empty:
  // there is none, and cells depend on their own tokens alone.
  std::vector<std::string> compared;
};

// REQUIRES: a graph of steps.
CellRotations cell_rotations(const Graph& graph);

// The cosines and sines, [R], of a rotation by so many positions, without the magnitude that the
// model gives them. `factors` gives the values of a weight.
std::vector<float> angles_of(const Graph& graph, const CellRotation& rotation, std::int32_t by,
                             const std::function<const std::byte*(const Node&)>& factors);
// Rotates a head, [E].
void rotate(const CellRotation& rotation, const std::vector<float>& by, float* head);

}  // namespace weft::run
