// The data flow shows which projections belong together: siblings with the same input whose results
// reach the same node, token by token, where at least one of them is also read by other tokens
// (Reach::col, Reach::all). This is so for queries, keys and values; gate and up also reach the
// same node, but only within a token.

#include <algorithm>
#include <map>
#include <set>

#include "weft/ops/projections/linear_concat.h"
#include "weft/ops/rows/views.h"

#include "matching.h"

namespace weft::scheduler {
namespace {

// The nodes that a result reaches, and whether it is mixed among tokens there.
using Arrivals = std::map<NodeId, bool>;

Arrivals arrivals_of(const Matching& match, NodeId from) {
  Arrivals arrivals;
  std::vector<NodeId> open{from};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    for (const NodeId user : match.users(id)) {
      const Node& node = match.graph()[user];
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != id) continue;
        const Reach reach = node.op->input(i).reach;
        const bool mixes = reach == Reach::col || reach == Reach::all;
        const bool fresh = arrivals.emplace(user, false).second;
        // Writing to a state only stores the rows; readers of the state mix them.
        const bool keeps_rows = node.op->storage == Storage::state || reach == Reach::same;
        if (fresh && keeps_rows) open.push_back(user);
        if (mixes && node.op->storage != Storage::state) arrivals[user] = true;
      }
    }
  }
  return arrivals;
}

bool meet(const Arrivals& a, const Arrivals& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& arrival) {
    const auto other = b.find(arrival.first);
    return other != b.end() && (arrival.second || other->second);
  });
}

bool is_leaf(const Graph& graph, NodeId id) {
  return id == kNoNode || graph[id].kind == NodeKind::weight;
}

using Group = std::vector<NodeId>;

// Plain projections of `x` with their own weights, in order, grouped by whether they have a bias.
std::vector<Group> sibling_groups(const Matching& match, NodeId x) {
  const Graph& graph = match.graph();
  std::vector<Group> groups;
  std::vector<Arrivals> meeting;  // by group: arrivals of its first member
  std::set<NodeId> weights;
  for (const NodeId id : match.users(x)) {
    if (!match.is(id, kLinear)) continue;
    const LinearInputs in = linear_inputs(graph[id]);
    if (in.x != x || in.residual != kNoNode || !is_leaf(graph, in.w) || !is_leaf(graph, in.bias))
      continue;
    if (!weights.insert(in.w).second) continue;
    const Arrivals arrivals = arrivals_of(match, id);
    std::size_t at = 0;
    for (; at < groups.size(); ++at) {
      const bool biased = linear_inputs(graph[groups[at].front()]).bias != kNoNode;
      if (biased == (in.bias != kNoNode) && meet(meeting[at], arrivals)) break;
    }
    if (at == groups.size()) {
      groups.emplace_back();
      meeting.push_back(arrivals);
    }
    groups[at].push_back(id);
  }
  std::erase_if(groups, [](const Group& group) { return group.size() < 2; });
  return groups;
}

// "blk.3.attn_q", "blk.3.attn_k", "blk.3.attn_v" -> "blk.3.attn_qkv".
std::string joined_path(const Graph& graph, const Group& group) {
  const std::string& first = graph[group.front()].path;
  std::size_t common = first.size();
  for (const NodeId id : group) {
    const std::string& path = graph[id].path;
    const auto ends =
        std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(common),
                      path.begin(), path.end());
    common = static_cast<std::size_t>(ends.first - first.begin());
  }
  std::string joined = first.substr(0, common);
  for (const NodeId id : group) joined += graph[id].path.substr(common);
  while (graph.find(joined) != kNoNode) joined += "_fused";
  return joined;
}

Tensor copied(Rewriter& rewriter, NodeId id) {
  return rewriter.has(id) ? rewriter(id) : rewriter.copy(id);
}

void fuse(Rewriter& rewriter, const Graph& graph, const Group& group) {
  const LinearInputs first = linear_inputs(graph[group.front()]);
  LinearConcatAttrs attrs{static_cast<std::int32_t>(group.size()), first.bias != kNoNode};
  std::vector<Tensor> inputs{rewriter(first.x)};
  for (const NodeId id : group) inputs.push_back(copied(rewriter, linear_inputs(graph[id]).w));
  if (attrs.has_bias) {
    for (const NodeId id : group) inputs.push_back(copied(rewriter, linear_inputs(graph[id]).bias));
  }
  const Tensor all = rewriter.insert(kLinearConcat, inputs, attrs, joined_path(graph, group),
                                     graph[group.front()].where);
  std::int64_t begin = 0;
  for (const NodeId id : group) {
    const std::int64_t end = begin + graph[id].spec.shape.cols();
    rewriter.replace(id, kSlice, {{all}}, SliceAttrs{begin, end});
    begin = end;
  }
}

Graph apply(const Graph& graph) {
  const Matching match(graph);
  std::map<NodeId, Group> by_first;
  for (NodeId x = 0; x < graph.size(); ++x) {
    for (Group& group : sibling_groups(match, x)) by_first.emplace(group.front(), std::move(group));
  }
  return rewrite(graph, kFuseQkv.name, [&](Rewriter& rewriter, NodeId id) {
    const auto group = by_first.find(id);
    if (group == by_first.end()) return false;
    fuse(rewriter, graph, group->second);
    return true;
  });
}

}  // namespace

const Pass kFuseQkv{
    .name = "fuse_qkv",
    .summary = "projections of one input that meet in an attention -> linear_concat and slices",
    .apply = apply,
    .needs = &kLinear};

}  // namespace weft::scheduler
