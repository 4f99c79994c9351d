#pragma once
// A drawing of a graph: boxes for nodes, clusters for layers (paths "blk.N."), edges. Identical
// layers are drawn once, with their count; weights are lines in the box of the op that uses them;
// nodes made by a pass have a double border and name it. A picture is a value: callers that know
// more about the nodes (times, lanes) change boxes before dot.h turns it into text.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/graph/graph.h"

namespace weft {

// Which layers with the same ops, attributes, types and edges are drawn as one.
enum class Fold : std::uint8_t { none, neighbours, alike };

using LayersAlike = std::function<bool(std::int64_t a, std::int64_t b)>;  // REQUIRES: a < b

struct PictureOptions {
  std::string title;  // any text
  Fold fold = Fold::alike;
  // Layers outside [first_layer, last_layer] shrink to one box per run; -1: up to the last one.
  std::int64_t first_layer = 0, last_layer = -1;
  LayersAlike alike_too;  // may be empty; layers for which it returns false are not drawn as one
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
  std::string key;            // made of paths: independent of node ids
  std::vector<NodeId> nodes;  // the nodes it represents, one of each layer drawn as one; empty for
                              // outputs and hidden layers
  std::int32_t cluster = -1;  // index into Picture::clusters; -1: outside the layers
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
  bool upwards = false;  // leads to an earlier box: does not influence the layout
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
  std::vector<PictureBox> boxes;  // those of a cluster are adjacent
  std::vector<PictureEdge> edges;
};

Picture picture_of(const Graph& graph, const PictureOptions& options = {});

// Whether two layers of a graph are identical. Keeps a reference to the graph.
LayersAlike layers_alike(const Graph& graph);

// "F32 [T, 2048]", with bounds "F32 [T<=512, 2048]".
std::string spec_text(const Graph& graph, const TensorSpec& spec, bool with_bounds = false);

// Merges two pictures that were folded the same way: what only `after` has is green, what only
// `before` has is red, boxes whose lines differ are yellow and show both, the rest is pale.
Picture difference(const Picture& before, const Picture& after);

}  // namespace weft
