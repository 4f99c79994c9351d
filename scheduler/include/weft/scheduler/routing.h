#pragma once
// Which backend runs which node, as values. Routes are the user's rules, by path. assign() looks
// at all graphs of a session together and decides what they must agree on; passes and planner use
// the resulting Assignment. If nodes use different memories, place_copies() inserts copies as
// nodes of the graph, so that plans, pictures, profiles and verify show them.

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/graph/graph.h"
#include "weft/graph/memory_id.h"

namespace weft {

struct RouteRule {
  std::string pattern;  // matches node paths: * matches any text, ? matches one character
  const Backend* backend = nullptr;
};

// The wanted backend of each node: rules by path, and a default backend. Immutable; the backends
// outlive it.
class Routes {
 public:
  // `name`: the default backend, as for find_backend(). `rules`: "blk.3.ffn_*=reference,*=cpu"; the
  // first match counts. Nodes that the wanted backend cannot run fall back to cpu, and then to the
  // op's definition. Throws ValueError for malformed rules and unknown backends.
  Routes(std::string_view name, std::string_view rules);
  Routes(const Backend& otherwise, std::vector<RouteRule> rules);
  // Everything on `backend`, which must have a kernel for every node.
  explicit Routes(const Backend& backend);

  std::string_view name() const;    // the default backend's name
  std::string description() const;  // the default backend's description, with the rules

  // The backend that the rules name for a node.
  const Backend& wanted(const Node& node) const;
  // The kernel of that backend, or of the backend it falls back to; nullopt if none has one.
  // `on_host`: only consider backends that compute in host memory. Kernel::backend is set.
  std::optional<Kernel> find(const Graph& graph, const Node& node, bool on_host = false) const;

  // The backend whose lowering is applied: the default backend, or cpu if that is a plug-in.
  const Backend& lowering_backend() const;
  // Whether plug-ins are involved. Lowering then changes only nodes of lowering_backend(), because
  // it introduces types that only that backend's kernels know.
  bool has_plugins() const { return has_plugins_; }
  // The backends with memory of their own. device_memory(i) is the memory of devices()[i].
  const std::vector<const Backend*>& devices() const { return devices_; }

  // Throws ValueError naming the first rule that matches no op, and similar paths if there are any.
  void check_patterns(const Graph& graph) const;

 private:
  const Backend* otherwise_;
  std::vector<RouteRule> rules_;
  std::vector<const Backend*> devices_;
  bool falls_back_ = false;
  bool has_plugins_ = false;
};

// Which backend runs each node of one graph. It also holds for the graphs that passes make of that
// graph: nodes keep their paths, and the rules apply to the paths of inserted nodes. A value; the
// backends outlive it.
class Assignment {
 public:
  // Every node on `backend`. Implicit, so that a backend can be passed as an assignment.
  Assignment(const Backend& backend) : routes_(backend) {}  // NOLINT(google-explicit-constructor)
  // By the rules alone: sufficient for a single graph that is computed in host memory.
  explicit Assignment(Routes routes) : routes_(std::move(routes)) {}

  const Routes& routes() const { return routes_; }
  // The kernel of an op node; nullopt if there is none. Kernel::backend is set.
  std::optional<Kernel> find(const Graph& graph, const Node& node) const;
  // The memory of a kernel's output.
  MemoryId memory_of(const Kernel& kernel) const;
  // Whether lowering may replace an op, or give a weight another type.
  bool may_lower(const Graph& graph, NodeId id) const;

  // Moves the op of this path to the host, overriding the rules. Returns whether that changes
  // anything.
  bool move_to_host(const std::string& path) { return on_host_.insert(path).second; }
  // From now on, lowering keeps the types of the weights of these paths only.
  void keep_weights(std::set<std::string, std::less<>> paths) { kept_weights_ = std::move(paths); }

 private:
  Routes routes_;
  std::set<std::string, std::less<>> on_host_;       // paths of ops whose state is in host memory
  std::set<std::string, std::less<>> kept_weights_;  // paths of weights that keep their types
};

// One assignment per graph, for the graphs of one session as fuse() returned them. They agree on
// everything that outlives a step. A state is in one memory: if its users were to compute in
// different memories, all of them move to the host. A weight has one type: it is lowered only if
// all its readers in all graphs run on lowering_backend().
std::vector<Assignment> assign(std::span<const Graph> graphs, const Routes& routes);

// Inserts a copy on every edge from one memory to another.
Graph place_copies(const Graph& graph, const Assignment& assignment);

}  // namespace weft
