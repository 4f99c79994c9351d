#pragma once
// A drawing of a graph: boxes for nodes, clusters for layers (paths "blk.N." or "dec.blk.N."), and
// edges. Identical layers are drawn once, with their count. Weights are lines in the box of the op
// that uses them. Nodes created by a pass have a double border and name the pass. A picture is a
// value: callers may add to its boxes (times, lanes) before to_dot() renders it.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::draw {

// Which layers with the same ops, attributes, types and wiring are drawn as one.
enum class Fold : std::uint8_t { none, neighbours, alike };

using LayersAlike = std::function<bool(std::int64_t a, std::int64_t b)>;  // REQUIRES: a < b

struct PictureOptions {
  std::string title;  // any text
  Fold fold = Fold::alike;
  // Layers outside [first_layer, last_layer] shrink to one box per run; -1: up to the last one.
  std::int64_t first_layer = 0, last_layer = -1;
  LayersAlike may_fold;  // if not empty: layers are drawn as one only if it returns true for them
};

struct PictureLine {
  enum class Style : std::uint8_t { plain, small, bold, italic, removed };
  std::string text;
  Style style = Style::small;
  std::string colour = {};  // empty: the style's
  friend bool operator==(const PictureLine&, const PictureLine&) = default;
};

struct PictureBox {
  enum class Form : std::uint8_t { box, oval, cylinder };
  std::string name;           // letters, digits and '_': "n12"
  std::string key;            // made of paths, so that boxes of different graphs can be matched
  std::vector<NodeId> nodes;  // the nodes it shows, one per folded layer; empty for outputs and
                              // for layers that are not shown
  std::int32_t cluster = -1;  // index into Picture::clusters; -1: outside the layers
  std::string title;
  std::vector<PictureLine> lines;
  Form form = Form::box;
  bool dashed = false, double_border = false, placeholder = false;
  std::string fill, border;  // "#rrggbb"
  double border_width = 1;
  std::string tooltip;
};

struct PictureEdge {
  enum class Kind : std::uint8_t { data, next_layer, elided };
  std::string from, to;  // names of boxes
  std::string label;
  Kind kind = Kind::data;
  bool upwards = false;     // leads to an earlier box; does not affect the layout
  std::string colour = {};  // empty: the kind's
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

// A predicate that tells whether two layers of a graph compute the same function. It refers to the
// graph, which must outlive it.
LayersAlike layers_alike(const Graph& graph);

// "F32 [T, 2048]", with bounds "F32 [T<=512, 2048]".
std::string spec_text(const Graph& graph, const TensorSpec& spec, bool with_bounds = false);

// One picture of two that were folded in the same way. Boxes that only `after` has are green, boxes
// that only `before` has are red, boxes whose lines differ are yellow and show the difference, and
// all others are pale.
Picture difference(const Picture& before, const Picture& after);

}  // namespace weft::draw
