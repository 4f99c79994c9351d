// Decisions that all graphs of a session share: which memory holds each state, and which weights
// change their types.

#include <algorithm>
#include <map>

#include "weft/ops/rows/copy.h"
#include "weft/scheduler/routing.h"

#include "exchange/collectives.h"
#include "plan/lanes.h"

namespace weft {
namespace {

// The states that a node reads or writes.
std::vector<NodeId> states_of(const Graph& graph, const Node& node) {
  std::vector<NodeId> states;
  for (const NodeId id : node.inputs) {
    const NodeId state = id == kNoNode ? kNoNode : lanes::state_of(graph, id);
    if (state != kNoNode) states.push_back(state);
  }
  return states;
}

}  // namespace

std::optional<Kernel> Assignment::find(const Graph& graph, const Node& node) const {
  if (node.op->collective) return scheduler::exchange_kernel(graph, node);
  if (!node.op->transfers) return routes_.find(graph, node, on_host_.contains(node.path));
  const auto& copy = node.attrs.as<CopyAttrs>();
  const std::size_t device = device_index(std::max(copy.from, copy.to));
  if (device >= routes_.devices().size()) return std::nullopt;
  const Backend* const backend = routes_.devices()[device];
  auto kernel = backend->find(graph, node);
  if (kernel) kernel->backend = backend;
  return kernel;
}

MemoryId Assignment::memory_of(const Kernel& kernel) const {
  return lanes::memory_of(kernel, routes_.devices(), &Backend::device);
}

bool Assignment::may_lower(const Graph& graph, NodeId id) const {
  if (!routes_.has_plugins()) return true;
  const Node& node = graph[id];
  if (!node.op) return !kept_weights_.contains(node.path);
  if (!lanes::does_work(node)) return false;
  const auto kernel = find(graph, node);
  return kernel && kernel->backend == &routes_.lowering_backend();
}

namespace {

// Makes the assignments of several graphs agree.
class Assigner {
 public:
  Assigner(std::span<const Graph> graphs, const Routes& routes)
      : graphs_(graphs), all_(graphs.size(), Assignment(routes)) {
    if (!routes.devices().empty()) {
      while (move_states_to_host()) {
      }
    }
    if (routes.has_plugins()) keep_weights();
  }
  std::vector<Assignment> take() { return std::move(all_); }

 private:
  template <class F>
  void for_each_node(F f) const {
    for (std::size_t i = 0; i < graphs_.size(); ++i) {
      for (NodeId id = 0; id < graphs_[i].size(); ++id) f(i, id);
    }
  }

  // Calls f(graph, node, path of a state) for every op and every state that it reads or writes.
  template <class F>
  void for_each_access(F f) const {
    for_each_node([&](std::size_t i, NodeId id) {
      const Node& node = graphs_[i][id];
      if (!lanes::does_work(node)) return;
      for (const NodeId state : states_of(graphs_[i], node)) f(i, node, graphs_[i][state].path);
    });
  }

  // Moves the nodes of a state to the host if they compute in several memories. Returns whether any
  // moved: that may separate the nodes of another state, so the caller repeats it.
  bool move_states_to_host() {
    std::map<std::string, MemorySet> memories;
    for_each_access([&](std::size_t i, const Node& node, const std::string& state) {
      const auto kernel = all_[i].find(graphs_[i], node);
      memories[state].insert(kernel ? all_[i].memory_of(*kernel) : MemoryId::host);
    });
    bool moved = false;
    for_each_access([&](std::size_t i, const Node& node, const std::string& state) {
      if (memories.at(state).size() > 1) moved |= all_[i].move_to_host(node.path);
    });
    return moved;
  }

  void keep_weights() {
    std::set<std::string, std::less<>> kept;
    for_each_node([&](std::size_t i, NodeId id) {
      const Node& user = graphs_[i][id];
      if (!user.op || (lanes::does_work(user) && all_[i].may_lower(graphs_[i], id))) return;
      for (const NodeId input : user.inputs) {
        if (input != kNoNode && graphs_[i][input].kind == NodeKind::weight)
          kept.insert(graphs_[i][input].path);
      }
    });
    for (Assignment& assignment : all_) assignment.keep_weights(kept);
  }

  std::span<const Graph> graphs_;
  std::vector<Assignment> all_;
};

}  // namespace

std::vector<Assignment> assign(std::span<const Graph> graphs, const Routes& routes) {
  return Assigner(graphs, routes).take();
}

}  // namespace weft
