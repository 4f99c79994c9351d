#include "memory/cell_rotations.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "weft/graph/view.h"
#include "weft/ops/positions/rope_angles.h"

#include "memory/state_store.h"

namespace weft::run {
namespace {

// How a node's value depends on positions, beside what it reads of other tokens.
enum class Dependence : std::uint8_t {
  none,       // if all tokens move together, it does not change
  positions,  // those of the tokens
  range,      // bounds of what attention sees
  angles,     // of rotations by the positions
  rotated,    // it, or a part of it, was rotated or scaled: only attention may read it
  absolute,   // otherwise
};

class Reading {
 public:
  explicit Reading(const Graph& graph)
      : graph_(graph), of_(static_cast<std::size_t>(graph.size()), Dependence::none) {}

  CellRotations read() {
    for (NodeId id = 0; id < graph_.size() && rotations_.why_not.empty(); ++id) read_node(id);
    for (const Graph::Output& output : graph_.outputs())
      if (of(output.node) != Dependence::none) refuse(output.node);
    return std::move(rotations_);
  }

 private:
  Dependence& of(NodeId id) { return of_[static_cast<std::size_t>(id)]; }

  // Names the weight of the node, if it has one: users know those.
  void refuse(NodeId id, std::string_view why = "depends on the absolute positions of tokens") {
    const Node& node = graph_[id];
    const auto is_weight = [&](NodeId in) {
      return in != kNoNode && graph_[in].kind == NodeKind::weight;
    };
    const auto weight = std::ranges::find_if(node.inputs, is_weight);
    const std::string& path = weight == node.inputs.end() ? node.path : graph_[*weight].path;
    if (rotations_.why_not.empty()) rotations_.why_not = fmt::format("'{}' {}", path, why);
  }

  void read_node(NodeId id) {
    const Node& node = graph_[id];
    if (node.kind == NodeKind::input && node.path == "pos") of(id) = Dependence::positions;
    if (node.kind != NodeKind::op) return;
    if (node.op->storage == Storage::state) return read_write(id);
    of(id) = after(node);
    for (const NodeId in : node.inputs)
      if (in != kNoNode && of(in) == Dependence::absolute) return refuse(in);
    if (of(id) == Dependence::absolute) refuse(id);
  }

  // What an op makes of the dependences of its inputs.
  Dependence after(const Node& node) {
    const Dependence first = of(node.inputs[0]);
    const bool has_positions = first == Dependence::positions;
    switch (node.op->positions) {
      case Positions::differences:
        return Dependence::none;
      case Positions::range:
        return has_positions ? Dependence::range : Dependence::absolute;
      case Positions::angles:
        return has_positions ? Dependence::angles : Dependence::absolute;
      case Positions::rotate:
        return first == Dependence::none && of(node.inputs[1]) == Dependence::angles
                   ? Dependence::rotated
                   : Dependence::absolute;
      case Positions::scale:  // of queries: read_write() refuses it for keys
        return first == Dependence::absolute ? first : Dependence::rotated;
      default:
        return after_any(node);
    }
  }

  Dependence after_any(const Node& node) {
    Dependence all = Dependence::none;
    for (const NodeId in : node.inputs) {
      if (in == kNoNode || of(in) == Dependence::none) continue;
      const bool stays = of(in) == Dependence::rotated && all != Dependence::absolute;
      all = stays ? Dependence::rotated : Dependence::absolute;
    }
    return all;
  }

  void read_write(NodeId id) {
    const Node& node = graph_[id];
    const std::string& state = graph_[node.inputs[0]].path;
    std::vector<CellRotation> rotations;
    NodeId cells = node.inputs[1];
    if (of(cells) == Dependence::rotated && graph_[cells].op->positions == Positions::turn) {
      rotations_.turn_of_state[state] = cells;
      cells = graph_[cells].inputs[0];
    }
    if (!follow(cells, 0, rotations))
      return refuse(node.inputs[1], "changes keys after they were rotated by their positions");
    rotations_.of_state[state] = std::move(rotations);
    note_layer(state);
  }

  // Finds the rotations that made a node's value: they commute with what follows them. Returns
  // false if it depends on positions in another way.
  bool follow(NodeId id, std::int64_t begin, std::vector<CellRotation>& rotations) {
    if (of(id) == Dependence::none) return true;
    const Node& node = graph_[id];
    if (of(id) != Dependence::rotated) return false;
    if (node.op->positions == Positions::commute) return follow(node.inputs[0], begin, rotations);
    if (node.op->positions == Positions::concat)
      return follow(node.inputs[0], begin, rotations) &&
             follow(node.inputs[1], begin + graph_[node.inputs[0]].spec.shape.last(), rotations);
    if (node.op->positions != Positions::rotate) return false;
    rotations.push_back({begin, node.attrs.as<RopeApplyAttrs>().pairs, node.inputs[1]});
    return true;
  }

  // The first layer that writes states knows nothing of other tokens, but for what they see of it.
  void note_layer(const std::string& state) {
    const std::string layer = state.substr(state.rfind('.') + 1);
    if (!first_layer_) first_layer_ = layer;
    if (layer == *first_layer_) return;
    if (!second_layer_) second_layer_ = layer;
    if (layer == *second_layer_) rotations_.compared.push_back(state);
  }

  const Graph& graph_;
  std::vector<Dependence> of_;  // by node
  CellRotations rotations_;
  std::optional<std::string> first_layer_, second_layer_;  // that write states
};

}  // namespace

CellRotations cell_rotations(const Graph& graph) {
  return Reading(graph).read();
}

std::vector<float> angles_of(const Graph& graph, const CellRotation& rotation, std::int32_t by,
                             const std::function<const std::byte*(const Node&)>& factors) {
  const Node& node = graph[rotation.angles];
  const auto& attrs = node.attrs.as<RopeAttrs>();
  const auto bytes = [](auto* values) { return reinterpret_cast<std::byte*>(values); };
  std::vector<float> y(static_cast<std::size_t>(attrs.n_rot));
  const View out = bounds_view({f32, {1, attrs.n_rot}}, bytes(y.data()));
  View divisors;
  if (node.inputs.size() > 1 && node.inputs[1] != kNoNode) {
    const Node& weight = graph[node.inputs[1]];
    divisors = bounds_view(weight.spec, const_cast<std::byte*>(factors(weight)));  // is only read
  }
  const View in[] = {bounds_view({i32, {1}}, bytes(&by)), divisors};
  rope_angles_region(attrs, in, out, Region::whole(out));
  for (std::size_t i = 0; i < y.size(); i += 2) {
    const float magnitude = std::hypot(y[i], y[i + 1]);
    if (magnitude > 0) y[i] /= magnitude, y[i + 1] /= magnitude;
  }
  return y;
}

void rotate(const CellRotation& rotation, const std::vector<float>& by, float* head) {
  float* const x = head + rotation.begin;
  const std::size_t half = by.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    float& a = rotation.pairs == RopePairs::adjacent ? x[2 * i] : x[i];
    float& b = rotation.pairs == RopePairs::adjacent ? x[2 * i + 1] : x[i + half];
    const float cosine = by[2 * i], sine = by[2 * i + 1], old = a;
    a = old * cosine - b * sine;
    b = old * sine + b * cosine;
  }
}

}  // namespace weft::run
