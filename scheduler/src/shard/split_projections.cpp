#include "shard/split_projections.h"

#include <algorithm>
#include <array>

#include "weft/base/error.h"
#include "weft/graph/pass.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/rows/views.h"

namespace weft::scheduler {

namespace {

// "[0:64,256:512]", "[:,256:512]"
std::string index_text(const std::vector<AxisRange>& ranges) {
  std::string text;
  int axis = 0;
  for (const AxisRange& range : ranges) {
    for (; axis < range.axis; ++axis) text += ":,";
    text += fmt::format("{}:{},", range.begin, range.end);
    ++axis;
  }
  text.pop_back();
  return fmt::format("[{}]", text);
}

}  // namespace

std::string PartNames::name(const std::string& weight, const AxisRange& range) {
  WeightPart part{.name = {}, .source = weight, .ranges = {}};
  if (const WeightPart* of = find(weight)) part = *of;
  const auto at = std::ranges::lower_bound(part.ranges, range.axis, {}, &AxisRange::axis);
  if (at != part.ranges.end() && at->axis == range.axis)
    *at = {range.axis, at->begin + range.begin, at->begin + range.end};
  else
    part.ranges.insert(at, range);
  part.name = part.source + index_text(part.ranges);
  const auto [made, fresh] = parts_.emplace(part.name, part);
  return made->first;
}

const WeightPart* PartNames::find(std::string_view name) const {
  const auto found = parts_.find(name);
  return found != parts_.end() ? &found->second : nullptr;
}

namespace {

class Splitter {
 public:
  Splitter(const Graph& graph, PartNames& parts)
      : graph_(graph), parts_(parts), users_(graph), rewriter_(graph, "split_projections") {}

  Graph split() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const bool is_part = graph_[id].op == &kSlice && is_sliced(graph_[id].inputs[0]);
      is_part ? split_slice(id) : static_cast<void>(rewriter_.copy(id));
    }
    return rewriter_.finish();
  }

 private:
  bool is_weight(NodeId id) const { return id == kNoNode || graph_[id].kind == NodeKind::weight; }

  // Whether it is a projection of which others only read slices.
  bool is_sliced(NodeId id) const {
    const Node& node = graph_[id];
    if (node.op != &kLinear || !is_weight(node.inputs[1]) || !is_weight(node.inputs[2]) ||
        node.inputs[3] != kNoNode)
      return false;
    const bool result = std::ranges::count(graph_.outputs(), id, &Graph::Output::node) > 0;
    return !result &&
           std::ranges::all_of(users_[id], [&](NodeId user) { return graph_[user].op == &kSlice; });
  }

  Tensor rows_of(NodeId weight, std::int64_t begin, std::int64_t end) {
    if (weight == kNoNode) return {};
    const Node& node = graph_[weight];
    std::vector<Dim> dims(node.spec.shape.begin(), node.spec.shape.end());
    dims[0] = end - begin;
    const std::string path = parts_.name(node.path, {0, begin, end});
    Graph& to = rewriter_.target();
    if (const NodeId made = to.find(path); made != kNoNode) return to.tensor(made);
    return to.weight(path, {node.spec.dtype, Shape(dims)}, node.where);
  }

  void split_slice(NodeId id) {
    const auto& range = graph_[id].attrs.as<SliceAttrs>();
    const Node& all = graph_[graph_[id].inputs[0]];
    rewriter_.replace(
        id, kLinear,
        std::array{rewriter_(all.inputs[0]), rows_of(all.inputs[1], range.begin, range.end),
                   rows_of(all.inputs[2], range.begin, range.end), Tensor()},
        {});
  }

  const Graph& graph_;
  PartNames& parts_;
  NodeUsers users_;
  Rewriter rewriter_;
};

}  // namespace

Graph split_projections(const Graph& graph, PartNames& parts) {
  return Splitter(graph, parts).split();
}

}  // namespace weft::scheduler
