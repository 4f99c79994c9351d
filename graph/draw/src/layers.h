#pragma once
// Which layer of the model each node belongs to, and which layers are alike. Layers are recognized
// by paths: "blk.3.attn_q" belongs to layer 3. In a graph of a model with an encoder and a decoder,
// layers are those of the part whose layers come first.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/draw/picture.h"
#include "weft/graph/graph.h"
#include "weft/graph/layer_path.h"
#include "weft/graph/per_node.h"

namespace weft::draw {

// Layers of a graph that are drawn as one.
struct LayerGroup {
  std::vector<std::int64_t> layers;  // ascending
  bool hidden = false;               // outside the requested layers; neighbours
};

class Layers {
 public:
  explicit Layers(const Graph& graph);

  std::int64_t of(NodeId id) const { return of_[id]; }
  std::string_view part() const { return part_; }  // "enc.", or empty
  // The path of a node or a weight within its layer; the whole path outside of the layers.
  std::string_view rest_of(std::string_view path) const;
  std::int64_t count() const { return static_cast<std::int64_t>(members_.size()); }
  const std::vector<NodeId>& members(std::int64_t layer) const {
    return members_[static_cast<std::size_t>(layer)];
  }
  // Position of a node among the members of its layer.
  std::size_t place(NodeId id) const { return place_[id]; }

  // Whether layer b does the same as the earlier layer a: the same kinds, ops, attributes and specs
  // in the same order, with the same wiring.
  bool alike(std::int64_t a, std::int64_t b) const;

  // All layers, by the first of each group.
  std::vector<LayerGroup> groups(const PictureOptions& options) const;

 private:
  bool wired_alike(NodeId x, NodeId y, std::int64_t a, std::int64_t b) const;

  const Graph& graph_;
  std::string part_;
  PerNode<std::int64_t> of_;
  std::vector<std::vector<NodeId>> members_;
  PerNode<std::size_t> place_;
};

}  // namespace weft::draw
