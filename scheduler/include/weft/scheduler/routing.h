#pragma once
// Which backend runs which node, as values. Routes say what is wanted, by path. assign() looks at
// all graphs of a session at once and settles what they must agree on; passes and planner read its
// answer. If memories differ, place_copies() puts copies between nodes, as nodes of the graph:
// plans, pictures, profiles and verify show and count them.

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
  std::string pattern;  // of paths: * stands for any text, ? for one character
  const Backend* backend = nullptr;
};

// What is wanted: rules by path, and a backend for all other nodes. Immutable; the backends outlive
// it.
class Routes {
 public:
  // `name`: a backend as find_backend() takes it. `rules`: "blk.3.ffn_*=reference,*=cpu", the first
  // match counts. What the wanted backend cannot run goes to cpu, and what cpu cannot run is
  // computed by its definition. Throws ValueError for rules that cannot be read and unknown
  // backends.
  Routes(std::string_view name, std::string_view rules);
  Routes(const Backend& otherwise, std::vector<RouteRule> rules);
  // Everything on `backend`, which has to have a kernel for every node.
  explicit Routes(const Backend& backend);

  std::string_view name() const;    // of the backend that most nodes go to
  std::string description() const;  // that backend's, and the rules

  // The backend that the rules name for a node.
  const Backend& wanted(const Node& node) const;
  // The kernel of that backend, or of those that it falls back to; nullopt if none has one.
  // `on_host`: only of backends that compute in the host's memory. Kernel::backend is set.
  std::optional<Kernel> find(const Graph& graph, const Node& node, bool on_host = false) const;

  // Whose lowering is applied: the backend that most nodes go to, or cpu if that is a plug-in.
  const Backend& lowering_backend() const;
  // Whether plug-ins take part. Lowering then touches only nodes of lowering_backend(), since it
  // gives weights and activations types that only that backend's kernels know.
  bool has_plugins() const { return has_plugins_; }
  // Backends with memory of their own; device_memory(i) is that of devices()[i].
  const std::vector<const Backend*>& devices() const { return devices_; }

  // Throws ValueError naming the first rule that matches no op, and the nearest paths.
  void check_patterns(const Graph& graph) const;

 private:
  const Backend* otherwise_;
  std::vector<RouteRule> rules_;
  std::vector<const Backend*> devices_;
  bool falls_back_ = false;
  bool has_plugins_ = false;
};

// Which backend runs each node of one graph, and of what passes make of that graph: nodes keep
// their paths, and a node that a pass inserts goes where the rules send its path. A value; the
// backends outlive it.
class Assignment {
 public:
  // Every node on `backend`. Implicit: a backend alone is an assignment.
  Assignment(const Backend& backend) : routes_(backend) {}  // NOLINT(google-explicit-constructor)
  // By the rules alone: right for one graph whose nodes all compute in the host's memory.
  explicit Assignment(Routes routes) : routes_(std::move(routes)) {}

  const Routes& routes() const { return routes_; }
  // The kernel of an op node. Kernel::backend says whose it is. nullopt if there is none.
  std::optional<Kernel> find(const Graph& graph, const Node& node) const;
  // Where a kernel leaves its output.
  MemoryId memory_of(const Kernel& kernel) const;
  // Whether lowering may replace an op, or give a weight another type.
  bool may_lower(const Graph& graph, NodeId id) const;

 private:
  friend class Settlement;

  Routes routes_;
  std::set<std::string, std::less<>> on_host_;       // paths of ops whose state stays there
  std::set<std::string, std::less<>> kept_weights_;  // paths of weights that keep their types
};

// One assignment per graph, for the graphs of one session as fuse() returned them. They agree on
// what outlives a step: a state lies in one memory, so if nodes that touch it would not all compute
// there, they all go to the host; a weight has one type, so it is lowered only if all its readers
// in all graphs run on lowering_backend().
std::vector<Assignment> assign(std::span<const Graph> graphs, const Routes& routes);

// Inserts copies where data goes from one memory to another.
Graph place_copies(const Graph& graph, const Assignment& assignment);

}  // namespace weft
