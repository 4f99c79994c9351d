#pragma once
// The two ways in which a node can use a weight that is adapted.

#include <algorithm>

#include "weft/graph/graph.h"

namespace weft::adapters {

// Input 0 is multiplied by input 1, and by no other matrix.
inline bool is_product(const Node& node) {
  if (!node.op || node.op->variadic || node.op->inputs.size() < 2) return false;
  return node.op->inputs[1].use == InputUse::matrix &&
         std::ranges::count(node.op->inputs, InputUse::matrix, &OpInput::use) == 1;
}

// The matrices are those of heads: all of them multiply, none is chosen.
inline bool is_by_heads(const Node& node) {
  return node.spec.shape.n_dims() == 3 && node.op->inputs[1].chosen_by < 0;
}

// Rows of input 0 are looked up, one per row of the output.
inline bool is_lookup(const Node& node) {
  return node.op && node.op->inputs[0].use == InputUse::table && node.spec.dtype == f32 &&
         node.spec.shape.n_dims() == 2;
}

}  // namespace weft::adapters
