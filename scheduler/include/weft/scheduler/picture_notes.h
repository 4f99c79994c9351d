#pragma once
// Adds facts from the plan and a profile to the picture of a graph.

#include <string>
#include <utility>
#include <vector>

#include "weft/draw/picture.h"
#include "weft/scheduler/plan.h"
#include "weft/scheduler/profiled_plan.h"

namespace weft {

struct NoteOptions {
  const ProfiledPlan* profile = nullptr;  // colours boxes by time, borders by bytes
  bool bytes_heat = false;                // without a profile: colours boxes by bytes
  bool kernels = false;                   // a line with the kernel
};

// The facts about a box, shown on request.
struct BoxFacts {
  std::string name;                // PictureBox::name
  std::vector<std::string> paths;  // the paths of all its nodes
  std::vector<std::pair<std::string, std::string>> rows;
};

// Marks backends and lanes, colours by time or bytes, sets tooltips.
std::vector<BoxFacts> add_notes(draw::Picture& picture, const Graph& graph, const Plan& plan,
                                const NoteOptions& options);

// Whether the plan does the same for both layers: backends, kernels, lanes.
draw::LayersAlike steps_alike(const Plan& plan);

// The picture of `weft dot` for Graphviz: layers that are alike appear once, boxes say where they
// run. The title goes above it.
std::string plan_dot(const Graph& graph, const Plan& plan, std::string title);

}  // namespace weft
