#pragma once
// What steps must do at least: the bytes that they must bring from memory and the multiply-adds
// that the model itself asks for. What a kernel does on top is its own affair.

#include <cstdint>

#include "weft/run/session.h"

namespace weft::tools {

struct Work {
  double weight_bytes = 0;   // each weight once a step, of tables the rows that are looked up
  double cache_bytes = 0;    // keys and values of the cells that are attended to, once a step
  double multiply_adds = 0;  // of matrix products and attention
  double of_quantized = 0, of_float = 0;  // multiply-adds with weights of either kind
  double joins = 0, nodes = 0;

  double bytes() const { return weight_bytes + cache_bytes; }
  Work& operator+=(const Work& other);
};

// Of feeding `n_tokens` to a sequence that has `depth` already, in steps of at most `width`, with
// logits of the last token of each step.
Work work_of(const Session& session, std::int64_t depth, std::int64_t n_tokens, std::int64_t width);

// The work of one node in a step of `n_tokens` tokens after `depth` others, by the graph that runs
// it.
Work work_of_node(const Graph& graph, NodeId id, std::int64_t depth, std::int64_t n_tokens);

}  // namespace weft::tools
