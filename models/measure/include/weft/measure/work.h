#pragma once
// The minimum work of steps: the bytes that they must read from memory, and the multiply-adds of
// the model. Additional work of kernels does not count.

#include <cstdint>

#include "weft/run/session.h"

namespace weft::bench {

struct Work {
  double weight_bytes = 0;  // each weight once per step; of tables only the rows that are looked up
  double cache_bytes = 0;   // keys and values of the cells that are attended to, once per step
  double multiply_adds = 0;               // those of matrix products and attention
  double of_quantized = 0, of_float = 0;  // multiply-adds with weights of either kind
  double joins = 0, nodes = 0;

  double bytes() const { return weight_bytes + cache_bytes; }
  Work& operator+=(const Work& other);
};

// The work of feeding `n_tokens` to a sequence that already has `depth`, in steps of at most
// `width`, with logits of the last token of each step.
Work work_of(const Session& session, std::int64_t depth, std::int64_t n_tokens, std::int64_t width);

// The work of one node in a step of `n_tokens` tokens after `depth` others, by the graph that runs
// it.
Work work_of_node(const Graph& graph, NodeId id, std::int64_t depth, std::int64_t n_tokens);

}  // namespace weft::bench
