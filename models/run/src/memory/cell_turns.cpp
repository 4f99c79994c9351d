#include "memory/cell_turns.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "weft/graph/view.h"
#include "weft/ops/positions/rope_angles.h"

namespace weft::run {
namespace {

// How a node's value depends on positions, beside what it reads of other tokens.
enum class Dependence : std::uint8_t {
  none,       // if all tokens move together, it does not change
  positions,  // places of tokens
  angles,     // those of rope_angles
  turned,     // by such angles: only attention, which sees differences, may read it
  absolute,   // otherwise
};

class Reading {
 public:
  explicit Reading(const Graph& graph)
      : graph_(graph), of_(static_cast<std::size_t>(graph.size()), Dependence::none) {}

  CellTurns read() {
    for (NodeId id = 0; id < graph_.size() && turns_.why_not.empty(); ++id) read_node(id);
    for (const Graph::Output& output : graph_.outputs())
      if (of(output.node) != Dependence::none) refuse(output.node);
    return std::move(turns_);
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
    if (turns_.why_not.empty()) turns_.why_not = fmt::format("'{}' {}", path, why);
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
      case Positions::compare:
        return Dependence::none;
      case Positions::shift:
        return has_positions ? first : Dependence::absolute;
      case Positions::measure:
        return has_positions ? Dependence::angles : Dependence::absolute;
      case Positions::turn:
        return first == Dependence::none && of(node.inputs[1]) == Dependence::angles
                   ? Dependence::turned
                   : Dependence::absolute;
      case Positions::weigh:  // of queries: read_write() refuses it for keys
        return first == Dependence::absolute ? first : Dependence::turned;
      default:
        return after_any(node);
    }
  }

  Dependence after_any(const Node& node) {
    Dependence all = Dependence::none;
    for (const NodeId in : node.inputs) {
      if (in == kNoNode || of(in) == Dependence::none) continue;
      const bool stays = of(in) == Dependence::turned && all != Dependence::absolute;
      all = stays ? Dependence::turned : Dependence::absolute;
    }
    return all;
  }

  void read_write(NodeId id) {
    const Node& node = graph_[id];
    const std::string& state = graph_[node.inputs[0]].path;
    std::vector<CellTurn> turns;
    if (!follow(node.inputs[1], 0, turns))
      return refuse(node.inputs[1], "changes keys after they were rotated by their positions");
    turns_.of_state[state] = std::move(turns);
    note_layer(state);
  }

  // Finds the turns that made a node's value: they commute with what follows them. Returns false if
  // it depends on positions in another way.
  bool follow(NodeId id, std::int64_t begin, std::vector<CellTurn>& turns) {
    if (of(id) == Dependence::none) return true;
    const Node& node = graph_[id];
    if (of(id) != Dependence::turned) return false;
    if (node.op->positions == Positions::keep) return follow(node.inputs[0], begin, turns);
    if (node.op->positions == Positions::join)
      return follow(node.inputs[0], begin, turns) &&
             follow(node.inputs[1], begin + graph_[node.inputs[0]].spec.shape.last(), turns);
    if (node.op->positions != Positions::turn) return false;
    turns.push_back({begin, node.attrs.as<RopeApplyAttrs>().pairs, node.inputs[1]});
    return true;
  }

  // States of the first layer hold what depends on their tokens alone.
  void note_layer(const std::string& state) {
    const std::string layer = state.substr(state.rfind('.') + 1);
    if (!first_layer_) first_layer_ = layer;
    if (layer == *first_layer_) return;
    if (!dependent_layer_) dependent_layer_ = layer;
    if (layer == *dependent_layer_) turns_.first_dependent.push_back(state);
  }

  const Graph& graph_;
  std::vector<Dependence> of_;  // by node
  CellTurns turns_;
  std::optional<std::string> first_layer_, dependent_layer_;
};

View view_of(void* data, const TensorSpec& spec) {
  View view{.data = static_cast<std::byte*>(data), .dtype = spec.dtype, .n_dims = 0, .dims = {}};
  for (int i = 0; i < spec.shape.n_dims(); ++i)
    view.dims[static_cast<std::size_t>(view.n_dims++)] = spec.shape[i].bound;
  view.row_stride = spec.row_bytes();
  return view;
}

}  // namespace

CellTurns cell_turns(const Graph& graph) {
  return Reading(graph).read();
}

std::vector<float> turn_by(const Graph& graph, const CellTurn& turn, std::int32_t by,
                           const std::function<const std::byte*(const Node&)>& factors) {
  const Node& node = graph[turn.angles];
  const auto& attrs = node.attrs.as<RopeAttrs>();
  std::vector<float> y(static_cast<std::size_t>(attrs.n_rot));
  const View out = view_of(y.data(), {f32, {1, attrs.n_rot}});
  View divisors;
  if (node.inputs.size() > 1 && node.inputs[1] != kNoNode) {
    const Node& weight = graph[node.inputs[1]];
    divisors = view_of(const_cast<std::byte*>(factors(weight)), weight.spec);  // is only read
  }
  const View in[] = {view_of(&by, {i32, {1}}), divisors};
  rope_angles_region(attrs, in, out, Region::whole(out));
  for (std::size_t i = 0; i < y.size(); i += 2) {
    const float magnitude = std::hypot(y[i], y[i + 1]);
    if (magnitude > 0) y[i] /= magnitude, y[i + 1] /= magnitude;
  }
  return y;
}

void apply_turn(const CellTurn& turn, const std::vector<float>& by, float* head) {
  float* const x = head + turn.begin;
  const std::size_t half = by.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    float& a = turn.pairs == RopePairs::adjacent ? x[2 * i] : x[i];
    float& b = turn.pairs == RopePairs::adjacent ? x[2 * i + 1] : x[i + half];
    const float cosine = by[2 * i], sine = by[2 * i + 1], old = a;
    a = old * cosine - b * sine;
    b = old * sine + b * cosine;
  }
}

}  // namespace weft::run
