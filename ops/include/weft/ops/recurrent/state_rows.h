#pragma once
// The state that a recurrent op updates in place, and which of its rows the tokens of a step read
// and write. The tokens may belong to several sequences. Each continues from the state after the
// token before it in its sequence: if that token is in the step, the op has just computed this
// state, otherwise it is in a row.

#include "weft/graph/tensor.h"

namespace weft {

struct StateRows {
  Tensor state;  // [R, ..] f32, a state of the graph that no other node uses
  // [T] i32, in -1..R-1: the row with the state before token t; -1: zeros. Only read if before[t]
  // is -1.
  Tensor from;
  // [T] i32, in -1..t-1: the number, within the step, of the token before token t in its sequence;
  // -1: token t is the first one of its sequence in this step. Two tokens never have the same token
  // before them.
  Tensor before;
  // [T] i32, in -1..R-1: the row that keeps the state after token t; -1: it is not kept. No two
  // tokens write the same row, and no token of the step reads a row that is written.
  Tensor to;
};

}  // namespace weft
