#pragma once
// What is drawn of a graph: boxes for nodes, clusters for layers (paths "blk.N."), edges. Layers
// that do the same are drawn once, with their count; weights are lines in the box of the op that
// uses them; nodes made by a pass have a double border and name it. A picture is a value: whoever
// knows more about the nodes (times, lanes) changes boxes before dot.h makes text of it.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/graph/graph.h"

namespace weft {

// Which layers of the same ops, attributes, types and wiring are drawn as one.
enum class Fold : std::uint8_t { none, neighbours, alike };

using LayersAlike = std::function<bool(std::int64_t a, std::int64_t b)>;  // REQUIRES: a < b

struct PictureOptions {
  std::string title;  // any text
  Fold fold = Fold::alike;
  // Layers outside [first_layer, last_layer] shrink to one box per run; -1: up to the last one.
  std::int64_t first_layer = 0, last_layer = -1;
  LayersAlike alike_too;  // may be empty; layers of which it says no are not drawn as one
};

struct PictureLine {
  enum class Style : std::uint8_t { plain, small, bold, italic, gone };
  std::string text;
  Style style = Style::small;
  std::string colour;  // empty: that of the style
  friend bool operator==(const PictureLine&, const PictureLine&) = default;
};

struct PictureBox {
  enum class Form : std::uint8_t { box, oval, cylinder };
  std::string name;           // letters, digits and '_': "n12"
  std::string key;            // the same in pictures of graphs with other node ids: made of paths
  std::vector<NodeId> nodes;  // that it stands for, one of each layer drawn as one; empty for
                              // outputs and layers that are not shown
  std::int32_t cluster = -1;  // index of one; -1: outside the layers
  std::string title;
  std::vector<PictureLine> lines;
  Form form = Form::box;
  bool dashed = false, twice = false, stand_in = false;
  std::string fill, border;  // "#rrggbb"
  double pen = 1;            // width of the border
  std::string tooltip;
};

struct PictureEdge {
  enum class Kind : std::uint8_t { data, next_layer, elided };
  std::string from, to;  // names of boxes
  std::string label;
  Kind kind = Kind::data;
  bool upwards = false;  // leads to a box that was drawn before: has no say in the layout
  std::string colour;    // empty: that of the kind
  friend bool operator==(const PictureEdge&, const PictureEdge&) = default;
};

struct PictureCluster {
  std::vector<std::int64_t> layers;
  std::string label;  // "blk.0 .. blk.3"
};

struct PictureColour {
  std::string meaning, fill, border;
};

struct Picture {
  std::string title, facts;
  std::vector<PictureColour> legend;
  std::vector<PictureCluster> clusters;
  std::vector<PictureBox> boxes;  // those of a cluster stand together
  std::vector<PictureEdge> edges;
};

Picture picture_of(const Graph& graph, const PictureOptions& options = {});

// Whether two layers of a graph do the same. Refers to the graph.
LayersAlike layers_alike(const Graph& graph);

// "F32 [T, 2048]", with bounds "F32 [T<=512, 2048]".
std::string spec_text(const Graph& graph, const TensorSpec& spec, bool with_bounds = false);

// One picture of two that were folded alike: what only `after` has is green, what only `before` has
// red, boxes of both with other lines are yellow and show them, the rest is pale.
Picture difference(const Picture& before, const Picture& after);

}  // namespace weft
