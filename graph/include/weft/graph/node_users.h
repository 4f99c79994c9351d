#pragma once
// The nodes that use each node of a graph.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/graph/tensor.h"

namespace weft {

// All lists in two arrays: plans are made at every start, and a list per node would be an
// allocation per node.
class NodeUsers {
 public:
  template <std::same_as<Graph> G>  // which includes this header
  explicit NodeUsers(const G& graph) : begins_(static_cast<std::size_t>(graph.size()) + 1) {
    for_each_input(graph, [&](NodeId, std::size_t input) { ++begins_[input + 1]; });
    for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    ids_.resize(begins_.back());
    std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
    for_each_input(graph, [&](NodeId user, std::size_t input) { ids_[next[input]++] = user; });
  }

  // Ascending; a user appears once for each input that is this node.
  // REQUIRES: 0 <= id < size of the graph.
  std::span<const NodeId> operator[](NodeId id) const {
    const auto i = static_cast<std::size_t>(id);
    return std::span(ids_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
  }

 private:
  template <class G, class F>
  static void for_each_input(const G& graph, F f) {
    for (NodeId user = 0; user < graph.size(); ++user) {
      for (const NodeId input : graph[user].inputs) {
        if (input != kNoNode) f(user, static_cast<std::size_t>(input));
      }
    }
  }

  std::vector<std::size_t> begins_;  // where the list of each node begins in ids_, and its end
  std::vector<NodeId> ids_;
};

}  // namespace weft
