#pragma once
// One node with its kernel and its own memory, to be run repeatedly by one thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/backends/device.h"
#include "weft/backends/memory.h"
#include "weft/graph/graph.h"

namespace weft::bench {

// The contents of an integer input: start, start + step, ...
struct Counting {
  std::string path;
  std::int32_t start = 0, step = 0;
};

class OneNode {
 public:
  // Times the node of the graph's first output; nodes before it are computed once. Integer inputs
  // are zeros unless `counts` lists them; all else is noise between -1 and 1. Throws
  // UnsupportedError if the backend has no kernel. REQUIRES: the graph outlives it.
  OneNode(const Graph& graph, const Backend& backend, const std::vector<Counting>& counts);

  // Fills `memory` with copies of the weights and states that the node reads. Each run uses the
  // next copy, so that none is in a cache if `memory` is larger than the caches. REQUIRES: it is
  // aligned to kAlignment, has room for one copy, and outlives the last run.
  void make_cold(std::span<std::byte> memory);

  // Prepares the node's kernel again. REQUIRES: the backend finds the same kernel for it.
  void prepare(const Backend& backend);

  void run();

  std::string row() const { return std::string(kernel_.row); }
  std::int64_t streamed_bytes() const { return streamed_bytes_; }  // weights and states of one run
  std::int64_t multiply_adds() const { return multiply_adds_; }

 private:
  using Copy = std::vector<std::byte*>;  // by input of the node; null if it is not streamed
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
