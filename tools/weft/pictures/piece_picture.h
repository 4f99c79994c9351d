#pragma once
// A picture of a plan as a flow graph (weft/scheduler/pieces.h): its pieces by stage and lane, and
// the joins between them.

#include <cstdint>
#include <string>

#include "weft/draw/picture.h"
#include "weft/scheduler/plan.h"

namespace weft::tools {

struct PiecePictureOptions {
  std::string title;
  bool fold = true;  // stages that repeat layer by layer are drawn once, with their count
  // Only stages with steps of these layers; -1: up to the last one.
  std::int64_t first_layer = 0, last_layer = -1;
};

// REQUIRES: the plan is of this graph.
draw::Picture picture_of_pieces(const Graph& graph, const Plan& plan,
                                const PiecePictureOptions& options);

}  // namespace weft::tools
