#pragma once
// A value for every node of a graph, indexed by NodeId.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/graph/tensor.h"

namespace weft {

// Owns its values. REQUIRES, for every access: 0 <= id < size().
template <class T>
class PerNode {
 public:
  PerNode() = default;
  template <std::same_as<Graph> G>  // which includes this header
  explicit PerNode(const G& graph) : values_(static_cast<std::size_t>(graph.size())) {}
  template <std::same_as<Graph> G>
  PerNode(const G& graph, const T& value)
      : values_(static_cast<std::size_t>(graph.size()), value) {}

  // A PerNode of the same size as `other`.
  template <class U>
  static PerNode like(const PerNode<U>& other) {
    PerNode made;
    made.values_.resize(static_cast<std::size_t>(other.size()));
    return made;
  }

  decltype(auto) operator[](NodeId id) { return values_[static_cast<std::size_t>(id)]; }
  decltype(auto) operator[](NodeId id) const { return values_[static_cast<std::size_t>(id)]; }
  std::int32_t size() const { return static_cast<std::int32_t>(values_.size()); }
  auto begin() { return values_.begin(); }
  auto begin() const { return values_.begin(); }
  auto end() { return values_.end(); }
  auto end() const { return values_.end(); }

  friend bool operator==(const PerNode&, const PerNode&) = default;

 private:
  std::vector<T> values_;
};

}  // namespace weft
