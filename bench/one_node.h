#pragma once
// One node with its kernel and memory of its own, to be run again and again by one thread.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/backends/device.h"
#include "weft/backends/memory.h"
#include "weft/graph/graph.h"

namespace weft::bench {

// Contents of an input of whole numbers: start, start + step, ...
struct Counting {
  std::string path;
  std::int32_t start = 0, step = 0;
};

class OneNode {
 public:
  // Times the node that makes the graph's first output; whatever comes before it is computed once.
  // Inputs of whole numbers are zeros where `counts` does not say otherwise; everything else gets
  // noise between -1 and 1. Throws UnsupportedError where the backend has no kernel. REQUIRES: the
  // graph outlives it.
  OneNode(const Graph& graph, const Backend& backend, const std::vector<Counting>& counts);

  // Makes copies of the weights and states that the node reads, until they are `least_bytes`
  // together: each run takes the next one, so that none is in a cache any more.
  void make_cold(std::int64_t least_bytes);

  void run();

  std::string row() const { return std::string(kernel_.row); }
  std::int64_t streamed_bytes() const { return streamed_bytes_; }  // weights and states of one run
  std::int64_t multiply_adds() const { return multiply_adds_; }

 private:
  struct Copy {
    std::vector<Buffer> buffers;  // by input of the node; empty where it is not streamed
  };
  bool is_streamed(NodeId id) const;
  void fill(NodeId id, const std::vector<Counting>& counts);
  View view(NodeId id) const;
  void compute(NodeId id);

  const Graph& graph_;
  const Backend& backend_;
  NodeId node_;
  Extents extents_;
  Kernel kernel_;
  KernelFailure failure_;
  std::unique_ptr<PreparedKernel> prepared_;
  PerNode<Buffer> memory_;
  std::vector<Copy> copies_;  // beside memory_
  std::size_t next_ = 0;
  std::vector<View> inputs_;
  View out_;
  Buffer scratch_;
  std::int64_t streamed_bytes_ = 0, multiply_adds_ = 0;
};

}  // namespace weft::bench
