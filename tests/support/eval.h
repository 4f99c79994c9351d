#pragma once
// Evaluates a graph node by node with the scalar definitions of its ops. Tests compare plans,
// passes and kernels with it. Slow and simple: every node has separate memory, filled with bytes of
// 0xff (NaN in every float type) until something writes there; states start as zeros.
//
//   Evaluator eval(graph);
//   eval.extent("T", 2).ints("ids", {3, 0}).floats("table", values).run();
//   CHECK(eval.floats("logits") == expected);

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/graph/view.h"

namespace weft::test {

struct EvaluatorOptions {
  // Bytes between the rows of every tensor without a layout, to see that strides are honoured.
  std::int64_t row_padding = 0;
};

// REQUIRES: the graph outlives it. Errors (unknown path, a size that does not fit) are ValueError.
class Evaluator {
 public:
  explicit Evaluator(const Graph& graph, EvaluatorOptions options = {});

  // Sets the extent of a variable for the next runs; its bound until set. Set extents before
  // contents.
  Evaluator& extent(std::string_view variable, std::int64_t n);

  // Contents of an input, a weight or a state, by path: floats are encoded into its type.
  Evaluator& floats(std::string_view path, std::span<const float> values);
  Evaluator& floats(std::string_view path, std::initializer_list<float> values) {
    return floats(path, std::span(values.begin(), values.size()));
  }
  Evaluator& ints(std::string_view path, std::span<const std::int32_t> values);
  Evaluator& ints(std::string_view path, std::initializer_list<std::int32_t> values) {
    return ints(path, std::span(values.begin(), values.size()));
  }
  // Blocks, rows back to back.
  Evaluator& bytes(std::string_view path, std::span<const std::byte> values);

  // Computes every op. States keep their contents for the next run.
  Evaluator& run();

  // Contents by path of a node or name of a graph output, after run(): decoded to floats, or as
  // they lie in memory, rows back to back.
  std::vector<float> floats(std::string_view path) const;
  std::vector<std::byte> bytes(std::string_view path) const;
  // How far f32 may lie from the definition, element by element (OpDef::bound; 4 ulp of the result
  // if it is null); for a state, those of the node that updates it.
  std::vector<float> bounds(std::string_view path) const;

  // The arguments of a kernel, for tests that run single nodes themselves.
  NodeId node(std::string_view path) const;
  View view(NodeId id) const;
  std::vector<View> inputs(NodeId id) const;
  const Extents& extents() const { return extents_; }

 private:
  // A leaf or a fresh result, aligned like the tensors of a plan.
  struct Memory {
    std::vector<std::byte> storage;
    std::byte* data = nullptr;
  };
  std::vector<float> update_bounds(NodeId state) const;
  View leaf(std::string_view path, std::size_t n_values) const;

  const Graph& graph_;
  EvaluatorOptions options_;
  Extents extents_;
  PerNode<Memory> memory_;  // empty for views and written states
};

// 4 ulp of a value: the bound of ops without one of their own.
float four_ulps(float value);

// Reproducible values in [-1, 1), the same on every machine.
std::vector<float> noise(std::size_t n, std::uint32_t seed);

}  // namespace weft::test
