#include "weft/draw/picture.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "weft/graph/layer_path.h"
#include "weft/graph/per_node.h"

#include "layers.h"

namespace weft::draw {
namespace {

// "pairs halves, n 3", in lines of about 40 characters.
std::vector<std::string> attr_lines(const Attrs& attrs) {
  std::vector<std::string> lines;
  attrs.for_each([&](std::string_view name, const AttrValue& value) {
    const std::string text = fmt::format("{} {}", name, to_string(value));
    if (!lines.empty() && lines.back().size() > 32) lines.back() += ",";
    if (lines.empty() || lines.back().ends_with(',')) {
      lines.push_back(text);
    } else {
      lines.back() += ", " + text;
    }
  });
  return lines;
}

// ---- appearance of nodes

struct Look {
  std::string_view meaning, fill, border;
};

// The colour of an op follows from how it reads its inputs, not from its name.
constexpr Look kMatrix{"reads a weight matrix", "#dbeafe", "#3b82f6"};
constexpr Look kAcross{"looks across rows", "#ede9fe", "#8b5cf6"};
constexpr Look kGrouped{"per row or head", "#fef9c3", "#ca8a04"};
constexpr Look kElementwise{"elementwise", "#dcfce7", "#22a35a"};
constexpr Look kView{"view, no work", "#ffffff", "#9ca3af"};
constexpr Look kState{"state", "#ffedd5", "#ea580c"};
constexpr Look kInput{"input, output", "#f3f4f6", "#374151"};
constexpr const Look* kLegend[] = {&kMatrix, &kAcross, &kGrouped, &kElementwise,
                                   &kView,   &kState,  &kInput};

const Look& look_of(const Graph& graph, const Node& node) {
  if (node.kind == NodeKind::state) return kState;
  if (!node.op) return kInput;
  if (node.op->storage == Storage::view) return kView;
  if (node.op->storage == Storage::state) return kState;
  const auto any = [&](auto holds) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != kNoNode && holds(graph[node.inputs[i]], node.op->input(i))) return true;
    }
    return false;
  };
  if (any([](const Node& in, const OpInput&) {
        return in.kind == NodeKind::weight && in.spec.shape.n_dims() >= 2;
      })) {
    return kMatrix;
  }
  if (any([](const Node& in, const OpInput& info) {
        const bool computed = in.op || in.kind == NodeKind::state;
        return computed && (info.reach == Reach::col || info.reach == Reach::all);
      })) {
    return kAcross;
  }
  return node.op->col_granule ? kGrouped : kElementwise;
}

// "0-3, 7", of ascending numbers, in lines of about 48 characters.
std::string ranges_text(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += text.empty() ? "" : ", ";
    text +=
        last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string layers_text(std::string_view part, const std::vector<std::int64_t>& layers) {
  const auto n = static_cast<std::int64_t>(layers.size());
  if (n == 1) return fmt::format("{}blk.{}", part, layers[0]);
  if (layers.back() - layers.front() + 1 == n)
    return fmt::format("{0}blk.{1} .. {0}blk.{2}", part, layers.front(), layers.back());
  return fmt::format("{}blk.{}", part, ranges_text(layers));
}

// ---- drawing

class Painter {
 public:
  Painter(const Graph& graph, const PictureOptions& options)
      : graph_(graph), layers_(graph), groups_(layers_.groups(options)) {
    group_of_layer_.resize(static_cast<std::size_t>(layers_.count()), -1);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      for (const std::int64_t layer : groups_[i].layers)
        group_of_layer_[static_cast<std::size_t>(layer)] = static_cast<std::int32_t>(i);
    }
    find_shared();
    picture_.title = options.title;
  }

  Picture paint() {
    head();
    for (const LayerGroup& group : groups_) paint_group(group);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (layers_.of(id) == kNoLayer) add_box(id, -1);
    }
    outputs();
    for (NodeId id = 0; id < graph_.size(); ++id) edges_into(id);
    return std::move(picture_);
  }

 private:
  std::int32_t group_index(NodeId id) const {
    const std::int64_t layer = layers_.of(id);
    return layer == kNoLayer ? -1 : group_of_layer_[static_cast<std::size_t>(layer)];
  }
  const LayerGroup* group_of(NodeId id) const {
    const std::int32_t index = group_index(id);
    return index < 0 ? nullptr : &groups_[static_cast<std::size_t>(index)];
  }

  // Nodes outside the layers that several layers use (angles, cells) get a small placeholder in
  // each of them: long arrows to all layers are unreadable, and dot needs minutes to lay them out.
  void find_shared() {
    constexpr std::size_t kMaxArrows = 1;
    PerNode<std::set<std::int32_t>> used_by(graph_);
    shared_ = PerNode<bool>(graph_);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      for (const NodeId in : graph_[id].inputs) {
        if (in != kNoNode && group_of(id)) used_by[in].insert(group_index(id));
      }
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      shared_[id] = layers_.of(id) == kNoLayer && graph_[id].kind != NodeKind::weight &&
                    used_by[id].size() > kMaxArrows;
    }
  }

  // The name of an edge's source: a shared node is drawn again in every group that uses it.
  std::string source_name(NodeId in, NodeId user) const {
    const LayerGroup* group = group_of(user);
    return shared_[in] && group ? fmt::format("n{}_in{}", in, group->layers.front()) : name(in);
  }

  // The node of the picture that shows a node of the graph.
  std::string name(NodeId id) const {
    const LayerGroup* group = group_of(id);
    if (!group) return fmt::format("n{}", id);
    if (group->hidden) return fmt::format("hidden{}", group->layers.front());
    return fmt::format("n{}", layers_.members(group->layers.front())[layers_.place(id)]);
  }

  void head() {
    picture_.facts = fmt::format("{} nodes", graph_.size());
    for (const Variable& v : graph_.variables())
      picture_.facts += fmt::format(", {} <= {}", v.name, v.bound);
    for (const Look* look : kLegend) {
      picture_.legend.push_back(
          {std::string(look->meaning), std::string(look->fill), std::string(look->border)});
    }
  }

  void paint_group(const LayerGroup& group) {
    const std::string range = layers_text(layers_.part(), group.layers);
    if (group.hidden) {
      const std::string name = fmt::format("hidden{}", group.layers.front());
      picture_.boxes.push_back(
          {.name = name,
           .key = name,
           .title = range,
           .lines = {{group.layers.size() == 1 ? "is not shown" : "are not shown"}},
           .dashed = true,
           .fill = "#ffffff",
           .border = "#6b7280"});
      return;
    }
    const auto cluster = static_cast<std::int32_t>(picture_.clusters.size());
    picture_.clusters.push_back({group.layers, range});
    for (const NodeId id : layers_.members(group.layers.front())) {
      add_box(id, cluster);
      for (const NodeId in : graph_[id].inputs) add_placeholder(in, id, cluster);
    }
  }

  void add_placeholder(NodeId in, NodeId user, std::int32_t cluster) {
    if (in == kNoNode || !shared_[in]) return;
    const std::string name = source_name(in, user);
    if (!seen_.insert(name).second) return;
    const Look& look = look_of(graph_, graph_[in]);
    picture_.boxes.push_back({.name = name,
                              .key = fmt::format("{} in {}", graph_[in].path, cluster),
                              .nodes = {in},
                              .cluster = cluster,
                              .title = graph_[in].path,
                              .form = PictureBox::Form::oval,
                              .dashed = true,
                              .placeholder = true,
                              .fill = std::string(look.fill),
                              .border = std::string(look.border)});
  }

  // Weights of an op: the name is omitted if the op is named after the weight.
  void weight_lines(const Node& node, std::vector<PictureLine>& lines) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoNode || graph_[node.inputs[i]].kind != NodeKind::weight) continue;
      const Node& w = graph_[node.inputs[i]];
      const bool implied = w.path == node.path + ".weight";
      const std::string_view called = implied ? node.op->input(i).name : layers_.rest_of(w.path);
      lines.push_back({fmt::format("{}  {}", called, spec_text(graph_, w.spec, true))});
    }
  }

  std::vector<PictureLine> lines_of(const Node& node) const {
    if (!node.op) return {{spec_text(graph_, node.spec, true)}};
    std::vector<PictureLine> lines;
    if (!layers_.rest_of(node.path).starts_with(node.op->name))
      lines.push_back({std::string(node.op->name), PictureLine::Style::plain});
    weight_lines(node, lines);
    for (const std::string& line : attr_lines(node.attrs)) lines.push_back({line});
    lines.push_back({"\u2192 " + spec_text(graph_, node.spec)});
    if (!node.made_by.empty()) lines.push_back({"by " + node.made_by, PictureLine::Style::italic});
    return lines;
  }

  void add_box(NodeId id, std::int32_t cluster) {
    const Node& node = graph_[id];
    if (node.kind == NodeKind::weight) return;
    const Look& look = look_of(graph_, node);
    PictureBox box{.name = fmt::format("n{}", id),
                   .key = node.path,
                   .nodes = {id},
                   .cluster = cluster,
                   .title = std::string(layers_.rest_of(node.path)),
                   .lines = lines_of(node),
                   .dashed = node.op && node.op->storage == Storage::view,
                   .double_border = !node.made_by.empty(),
                   .fill = std::string(look.fill),
                   .border = std::string(look.border)};
    if (node.kind == NodeKind::input) box.form = PictureBox::Form::oval;
    if (node.kind == NodeKind::state) box.form = PictureBox::Form::cylinder;
    if (const LayerGroup* group = group_of(id)) {
      for (std::size_t i = 1; i < group->layers.size(); ++i)
        box.nodes.push_back(layers_.members(group->layers[i])[layers_.place(id)]);
    }
    picture_.boxes.push_back(std::move(box));
  }

  void outputs() {
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Graph::Output& output = graph_.outputs()[i];
      const std::string name = fmt::format("out{}", i);
      picture_.boxes.push_back({.name = name,
                                .key = "output " + output.name,
                                .title = output.name,
                                .lines = {{spec_text(graph_, graph_[output.node].spec, true)}},
                                .form = PictureBox::Form::oval,
                                .double_border = true,
                                .fill = std::string(kInput.fill),
                                .border = std::string(kInput.border)});
      picture_.edges.push_back({.from = this->name(output.node), .to = name});
    }
  }

  void edges_into(NodeId id) {
    const Node& node = graph_[id];
    const auto is_drawn = [&](NodeId in) {
      return in != kNoNode && graph_[in].kind != NodeKind::weight;
    };
    const auto n_drawn = std::count_if(node.inputs.begin(), node.inputs.end(), is_drawn);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_drawn(node.inputs[i])) edge(node.inputs[i], id, i, n_drawn > 1);
    }
  }

  void edge(NodeId in, NodeId id, std::size_t input, bool with_role) {
    PictureEdge edge{.from = source_name(in, id), .to = name(id)};
    const LayerGroup *source = group_of(in), *target = group_of(id);
    if (edge.from == edge.to) return;  // within a group that is not shown
    if (target && target->hidden && shared_[in]) return;
    // An edge to the next layer, if that is drawn in the same or in an earlier cluster, leads up.
    const bool next_layer = source && target && layers_.of(in) != layers_.of(id);
    if ((source && source->hidden) || (target && target->hidden)) {
      edge.kind = PictureEdge::Kind::elided;
    } else if (next_layer && (source->layers.size() > 1 || target->layers.size() > 1)) {
      edge.kind = PictureEdge::Kind::next_layer;
      edge.label = "next layer";
    } else if (with_role) {
      edge.label = graph_[id].op->input(input).name;
    }
    edge.upwards = next_layer && group_index(in) >= group_index(id);
    const std::string line = fmt::format("{} {} {}", edge.from, edge.to, edge.label);
    if (seen_.insert(line).second) picture_.edges.push_back(std::move(edge));
  }

  const Graph& graph_;
  Layers layers_;
  std::vector<LayerGroup> groups_;
  std::vector<std::int32_t> group_of_layer_;
  PerNode<bool> shared_;
  std::set<std::string> seen_;  // placeholders and edges: each is drawn once
  Picture picture_;
};

}  // namespace

std::string spec_text(const Graph& graph, const TensorSpec& spec, bool with_bounds) {
  std::string text = std::string(spec.dtype.name()) + " [";
  for (int i = 0; i < spec.shape.n_dims(); ++i) {
    const Dim& dim = spec.shape[i];
    text += i ? ", " : "";
    if (dim.varies()) text += graph.variables()[static_cast<std::size_t>(dim.variable)].name;
    if (dim.varies() && with_bounds) text += "<=";
    if (!dim.varies() || with_bounds) text += fmt::format("{}", dim.bound);
  }
  return text + "]";
}

Picture picture_of(const Graph& graph, const PictureOptions& options) {
  return Painter(graph, options).paint();
}

}  // namespace weft::draw
