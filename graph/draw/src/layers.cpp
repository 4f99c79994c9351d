#include "layers.h"

#include <algorithm>
#include <memory>

namespace weft::draw {
namespace {

bool same_node(const Node& x, const Node& y) {
  return x.kind == y.kind && x.op == y.op && x.spec == y.spec && x.attrs == y.attrs &&
         x.made_by == y.made_by && x.inputs.size() == y.inputs.size();
}

std::string first_part(const Graph& graph) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const LayerPath path = parse_part_path(graph[id].path);
    if (graph[id].op && path.layer != kNoLayer) return std::string(path.part);
  }
  return {};
}

}  // namespace

Layers::Layers(const Graph& graph)
    : graph_(graph), part_(first_part(graph)), of_(graph), place_(graph) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const LayerPath path = parse_part_path(graph[id].path);
    of_[id] = path.part == part_ ? path.layer : kNoLayer;
  }

  // A cache with another name belongs to the only layer that uses it.
  const auto users = graph.users();
  for (NodeId id = 0; id < graph.size(); ++id) {
    const std::span<const NodeId> used_by = users[id];
    if (graph[id].kind != NodeKind::state || of(id) != kNoLayer || used_by.empty()) continue;
    const std::int64_t layer = of(used_by[0]);
    const auto same = [&](NodeId user) { return of(user) == layer; };
    if (std::all_of(used_by.begin(), used_by.end(), same)) of_[id] = layer;
  }

  for (NodeId id = 0; id < graph.size(); ++id) {
    if (of(id) == kNoLayer) continue;
    if (of(id) >= count()) members_.resize(static_cast<std::size_t>(of(id)) + 1);
    auto& own = members_[static_cast<std::size_t>(of(id))];
    place_[id] = own.size();
    own.push_back(id);
  }
}

std::string_view Layers::rest_of(std::string_view path) const {
  const LayerPath parsed = parse_part_path(path);
  return parsed.part == part_ ? parsed.rest : path;
}

// Inputs x of layer a and y of layer b match if they are at the same place in their own layers,
// have the same name in the previous layers, or are the same node outside of layers. An input that
// the first layer takes from outside may come from the previous layer in later ones.
bool Layers::wired_alike(NodeId x, NodeId y, std::int64_t a, std::int64_t b) const {
  if (x == kNoNode || y == kNoNode) return x == y;
  if (of(x) == a || of(y) == b) return of(x) == a && of(y) == b && place(x) == place(y);
  if (x == y) return of(x) == kNoLayer;
  if (of(y) != b - 1 || graph_[x].spec != graph_[y].spec) return false;
  if (of(x) == kNoLayer) return graph_[x].kind != NodeKind::weight;
  return of(x) == a - 1 && a > 0 && rest_of(graph_[x].path) == rest_of(graph_[y].path);
}

bool Layers::alike(std::int64_t a, std::int64_t b) const {
  const auto &x = members(a), &y = members(b);
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Node &m = graph_[x[i]], &n = graph_[y[i]];
    if (!same_node(m, n)) return false;
    for (std::size_t j = 0; j < m.inputs.size(); ++j) {
      if (!wired_alike(m.inputs[j], n.inputs[j], a, b)) return false;
    }
  }
  return true;
}

std::vector<LayerGroup> Layers::groups(const PictureOptions& options) const {
  std::vector<LayerGroup> groups;
  for (std::int64_t layer = 0; layer < count(); ++layer) {
    if (members(layer).empty()) continue;
    const bool hidden =
        layer < options.first_layer || (options.last_layer >= 0 && layer > options.last_layer);
    const auto joins = [&](const LayerGroup& group) {
      const bool follows = &group == &groups.back() && group.layers.back() == layer - 1;
      if (group.hidden || hidden) return group.hidden && hidden && follows;
      if (options.fold == Fold::none || (options.fold == Fold::neighbours && !follows))
        return false;
      const std::int64_t first = group.layers.front();
      return alike(first, layer) && (!options.may_fold || options.may_fold(first, layer));
    };
    const auto group = std::find_if(groups.begin(), groups.end(), joins);
    if (group == groups.end()) {
      groups.push_back({{layer}, hidden});
    } else {
      group->layers.push_back(layer);
    }
  }
  return groups;
}

LayersAlike layers_alike(const Graph& graph) {
  return [layers = std::make_shared<Layers>(graph)](std::int64_t a, std::int64_t b) {
    return b < layers->count() && layers->alike(a, b);
  };
}

}  // namespace weft::draw
