#include "lowered_part.h"

#include <algorithm>
#include <map>

namespace weft::scheduler {
namespace {

// Whether a pass gave a weight another type, or replaced an op or its inputs.
bool is_changed(const Graph& before, const Node& a, const Graph& after, const Node& b) {
  if (a.kind == NodeKind::weight) return !(a.spec.dtype == b.spec.dtype);
  const auto same = [&](NodeId x, NodeId y) {
    return x == kNoNode || y == kNoNode ? x == y : before[x].path == after[y].path;
  };
  return a.op && (a.op != b.op || !std::ranges::equal(a.inputs, b.inputs, same));
}

// Copies a graph, and takes the rewritten nodes that the assignment allows.
class Merger {
 public:
  Merger(const Graph& before, const Graph& after, std::string_view pass_name)
      : before_(before), after_(after), rewriter_(before, pass_name) {}

  Graph run(const Assignment& assignment) {
    for (NodeId id = 0; id < before_.size(); ++id) {
      const NodeId now = after_.find(before_[id].path);
      const bool changed = now != kNoNode && is_changed(before_, before_[id], after_, after_[now]);
      if (!changed || !assignment.may_lower(before_, id)) {
        rewriter_.copy(id);
      } else if (before_[id].op) {
        rewriter_.replace(id, *after_[now].op, inputs_of(after_[now]), after_[now].attrs);
      } else {
        rewriter_.copy_as(id, after_[now].spec.dtype);
      }
    }
    return rewriter_.finish();
  }

 private:
  std::vector<Tensor> inputs_of(const Node& node) {
    std::vector<Tensor> inputs;
    for (const NodeId id : node.inputs) {
      const NodeId old = id == kNoNode ? kNoNode : before_.find(after_[id].path);
      if (id == kNoNode) {
        inputs.emplace_back();
      } else {
        inputs.push_back(old != kNoNode ? rewriter_(old) : added(id));
      }
    }
    return inputs;
  }

  // A node that the pass inserted, with everything that it needs.
  Tensor added(NodeId id) {
    const auto [at, is_new] = added_.emplace(id, Tensor());
    if (is_new) {
      const Node& n = after_[id];
      at->second = rewriter_.insert(*n.op, inputs_of(n), n.attrs, n.path, n.where);
    }
    return at->second;
  }

  const Graph& before_;
  const Graph& after_;
  Rewriter rewriter_;
  std::map<NodeId, Tensor> added_;  // by node of `after`
};

}  // namespace

Graph lowered_part(const Graph& before, Graph after, const Assignment& assignment,
                   std::string_view pass_name) {
  if (!assignment.routes().has_plugins()) return after;
  return Merger(before, after, pass_name).run(assignment);
}

}  // namespace weft::scheduler
