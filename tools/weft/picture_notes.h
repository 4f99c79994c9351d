#pragma once
// Writes into a picture of a graph what its plan and a profile say about the nodes.

#include <string>
#include <utility>
#include <vector>

#include "weft/graph/picture.h"
#include "weft/scheduler/plan.h"

#include "profile_file.h"

namespace weft::tools {

struct NoteOptions {
  const ProfiledPlan* profile = nullptr;  // colours boxes by time, borders by bytes
  bool bytes_heat = false;                // without a profile: colours boxes by bytes
  bool kernels = false;                   // a line with the kernel
};

// What is known about a box, for people who ask.
struct BoxFacts {
  std::string name;                // PictureBox::name
  std::vector<std::string> paths;  // of all its nodes
  std::vector<std::pair<std::string, std::string>> rows;
};

// Marks backends and lanes, colours by time or bytes, sets tooltips.
std::vector<BoxFacts> add_notes(Picture& picture, const Graph& graph, const Plan& plan,
                                const NoteOptions& options);

// Whether the plan does the same for both layers: backends, kernels, lanes.
LayersAlike steps_alike(const Plan& plan);

}  // namespace weft::tools
