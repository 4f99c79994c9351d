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
struct CellTurn {
  std::int64_t begin = 0;
  RopePairs pairs = RopePairs::adjacent;
  NodeId angles = kNoNode;  // the node of rope_angles
};

struct CellTurns {
  std::string why_not;  // cells cannot be taken; "": they can
  // By path of the state, what a cell goes through; empty: it does not depend on the position.
  std::map<std::string, std::vector<CellTurn>> of_state;
  // The states of the first layer whose cells depend on other tokens. Empty: there is none.
  std::vector<std::string> first_dependent;
};

// REQUIRES: a graph of steps.
CellTurns cell_turns(const Graph& graph);

// The cosines and sines, [R], by which `by` positions turn: the magnitude of the angles is left
// out. `factors` gives the values of a weight.
std::vector<float> turn_by(const Graph& graph, const CellTurn& turn, std::int32_t by,
                           const std::function<const std::byte*(const Node&)>& factors);
// Turns a head, [E].
void apply_turn(const CellTurn& turn, const std::vector<float>& by, float* head);

}  // namespace weft::run
