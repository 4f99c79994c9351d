#pragma once
// The state that a recurrent op updates in place, and the rows of it that each token reads and
// writes.

#include "weft/graph/tensor.h"

namespace weft {

struct StateRows {
  Tensor state;  // [R, ..] f32, a state of the graph that no other node uses
  // [T] i32, below R: the row with the state before the token; -1: zeros.
  Tensor from;
  // [T] i32: the token of the step that precedes the token in its sequence, less than t, and not
  // that of another token; it replaces `from`. -1: the first one of the sequence in the step.
  Tensor before;
  // [T] i32, below R: the row that keeps the state after the token; -1: not kept. Rows that are
  // written are distinct, and no token of the step reads them.
  Tensor to;
};

}  // namespace weft
