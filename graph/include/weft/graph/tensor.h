#pragma once
// The handle that model code uses: a value of 16 bytes that refers to a node of a graph. It owns
// nothing and is cheap to copy. REQUIRES, for every member: the graph outlives the handle.

#include <cstdint>
#include <string_view>

#include "weft/base/source_line.h"
#include "weft/graph/node_id.h"
#include "weft/graph/op_def.h"

namespace weft {

class Graph;
class Tensor {
 public:
  Tensor() = default;  // no tensor: an absent optional input
  Tensor(Graph* graph, NodeId id) : graph_(graph), id_(id) {}

  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) & = default;  // assigning to a temporary is a mistake

  explicit operator bool() const { return graph_ != nullptr; }
  Graph& graph() const { return *graph_; }
  NodeId id() const { return id_; }

  const TensorSpec& spec() const;
  const Shape& shape() const { return spec().shape; }
  DType dtype() const { return spec().dtype; }

  // Gives the node its own path ("ffn_out" within the current scope). Throws ValueError if
  // the path is taken.
  Tensor named(std::string_view name) const;

 private:
  Graph* graph_ = nullptr;
  NodeId id_ = kNoNode;
};

}  // namespace weft
