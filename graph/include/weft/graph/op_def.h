#pragma once
// The definition of an op: plain data and a few functions, in the op's own file in ops/. There is
// no enum of ops and no switch over them. Shape inference, the scalar definition, the error bound,
// the cost and how lanes may divide the work are all found here.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/attrs.h"
#include "weft/graph/cut.h"
#include "weft/graph/dtype.h"
#include "weft/graph/shape.h"
#include "weft/graph/view.h"

namespace weft {

class Graph;
class Tensor;

// Element type and shape of a node's output. `dtype` is invalid for an optional input that is
// absent.
struct TensorSpec {
  DType dtype;
  Shape shape;

  bool present() const { return dtype.valid(); }
  // Bytes at the bounds, with rows back to back. Both throw ShapeError if a row is not whole
  // blocks, or takes more than 2^63 - 1 bytes. REQUIRES: present().
  std::int64_t bytes() const;
  std::int64_t row_bytes() const;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};
std::string to_string(const TensorSpec& spec);  // "Q8_0 [4096, 4096]"

using Specs = std::span<const TensorSpec>;
using Views = std::span<const View>;

// Which part of an input the output element (row r, column c) depends on. The planner uses it to
// find out where lanes must synchronize. A vector [D] that is applied to every row counts as D
// columns of the same row.
enum class Reach : std::uint8_t {
  same,  // (r, c), with the column mapped by OpDef::map_cols if that is set
  row,   // row r, all columns
  col,   // all rows, column c (mapped likewise)
  all,   // everything
};

// What an op does with an input. It matters for weights: how they are laid out, read from disk and
// weighed when they are quantized.
enum class InputUse : std::uint8_t {
  values,  // anything else
  matrix,  // [N, K], or [X, N, K] of several matrices: rows of input 0 are multiplied by it
  table,   // its rows are looked up as they are
  addend,  // is added to the result
};

struct OpInput {
  std::string_view name;
  Reach reach = Reach::same;
  bool optional = false;
  InputUse use = InputUse::values;
  // The index of the input whose ids choose which matrices or rows are read; -1: all are.
  int chosen_by = -1;
};

// Half-open range of elements within a row.
struct ColRange {
  std::int64_t begin = 0, end = 0;
  friend bool operator==(const ColRange&, const ColRange&) = default;
};

// Work of one application at given extents. Weights, states and activations all count as bytes.
struct Cost {
  std::int64_t bytes_read = 0;
  std::int64_t bytes_written = 0;
  std::int64_t multiply_adds = 0;
};

// Where the output lives.
enum class Storage : std::uint8_t {
  fresh,  // memory of its own, or that of input `in_place_over` if no other node needs it
  view,   // the memory of input 0 with another shape (reshape, slice): no work at run time
  state,  // the memory of input 0, a state, partly overwritten (cache_write)
};

// What an op makes of the positions of tokens. It tells what a token's keys and values become when
// the token is taken to another position.
enum class Positions : std::uint8_t {
  any,          // if an input depends on positions, the output does, in some way
  differences,  // attention: how a token sees another one depends on the difference of their
                // positions; which ones it sees may depend on its own position
  range,        // positions of input 0 give bounds of what attention sees
  angles,       // positions of input 0 give angles, which grow linearly with them
  rotate,       // pairs of elements of each head of input 0 are rotated by the angles of input 1
  scale,        // heads of input 0 are multiplied by a number that depends on positions
  commute,      // rotating input 0 rotates the output in the same way
  concat,       // likewise, of heads that are those of input 0 followed by those of input 1
  turn,         // each head of input 0 is multiplied by the same matrix, which is its own inverse
};

struct OpDef {
  std::string_view name;  // "rms_norm"
  std::span<const OpInput> inputs;
  bool variadic = false;  // the last input may repeat
  const AttrsType* attrs = &kAttrsType<NoAttrs>;
  // The index of the weight that nodes take their path from: "blk.0.attn_q" for
  // "blk.0.attn_q.weight". -1: they are named after the op.
  int named_after = -1;

  // Checks inputs and attributes and returns the output's spec. Throws ShapeError, DTypeError or
  // ValueError with a message like "w must be [4096], got [4097]"; Graph::add adds the op, the path
  // and the builder's line.
  TensorSpec (*infer)(const Attrs&, Specs in) = nullptr;

  // The definition: plain loops with double accumulators that compute the whole output, never
  // tuned. Absent optional inputs have no data. `out` may be the memory of input `in_place_over`;
  // for Storage::state it is the memory of input 0. Also writes rows of input `updates`. Null for
  // Storage::view.
  void (*reference)(const Attrs&, Views in, View out) = nullptr;

  // The error bound of every output element: how far a correct implementation in f32 may be from
  // `reference`, computed from reduction length, epsilon and magnitudes. Absolute values, written
  // as f32 into `bounds`, which has the shape of the output. Null: elementwise, 4 ulp of the
  // result.
  void (*bound)(const Attrs&, Views in, View bounds) = nullptr;

  // Null: reads all inputs once, writes the output once, no multiply-adds.
  Cost (*cost)(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) = nullptr;

  // How many columns of the output must stay in one lane (a head, a block). Null: 1. If it is the
  // row's width, the op cannot be split by columns.
  std::int64_t (*col_granule)(const Attrs&, Specs in, const TensorSpec& out) = nullptr;
  // Which columns of input `index` the output columns need, for Reach::same and Reach::col. Null:
  // the same ones.
  ColRange (*map_cols)(const Attrs&, Specs in, int index, ColRange out) = nullptr;
  // The ends of the segments of a row (the Q, K and V parts of a fused projection). Each segment is
  // split among lanes on its own; the last end is the row's width. Null: the row is one segment.
  std::vector<std::int64_t> (*col_segments)(const Attrs&, Specs in) = nullptr;
  // Rows of the output can be computed independently of each other.
  bool splits_rows = true;

  Storage storage = Storage::fresh;
  // Storage::view: first element of the view within each row of input 0. Null: 0.
  std::int64_t (*view_col)(const Attrs&, Specs in) = nullptr;
  int in_place_over = -1;

  // The index of an input that is a state of the graph. A node reads and writes rows of it while it
  // computes its output; -1: none. No other node may use this state, `splits_rows` must be
  // false, and two columns of the output that different lanes may compute must need different
  // columns of the state (map_cols). Rows that a node writes are not rows that it reads, so that
  // `reference` gives the same when it runs twice.
  int updates = -1;
  // The error bound of every element of that state after the node, like `bound`, in the shape of
  // the state; 0 in rows that are not written. REQUIRES: updates >= 0. Null: exact.
  void (*update_bound)(const Attrs&, Views in, View bounds) = nullptr;
  // Whether nodes write to a state: then only one lane may compute each element.
  bool writes_state() const { return storage == Storage::state || updates >= 0; }

  // Fused ops: the same computation as a graph of plain ops. Every pass that creates this op is
  // checked against it.
  Tensor (*definition)(const Attrs&, std::span<const Tensor> in) = nullptr;

  // An op of another language, whose functions may throw any exception: plans name its kernel
  // "OP custom", and compute it by `reference`.
  bool custom = false;

  // Nodes exchange values with the other ranks of a model that runs on several of them
  // (ops/ranks/collectives.h). `reference` and `bound` then get the first input of all ranks that
  // take part, in the order of ranks, instead of the inputs of one node.
  bool collective = false;

  // Nodes move a tensor between the memories of the host and of devices (ops/rows/copy.h). The
  // planner adds them; the backend of the device computes them.
  bool transfers = false;

  // How it is divided among the ranks of a model that runs on several of them.
  OpCuts cuts = {};

  Positions positions = Positions::any;

  // Describes input `i` of a node. If the op is variadic, the last OpInput describes all that
  // follow.
  const OpInput& input(std::size_t i) const { return inputs[std::min(i, inputs.size() - 1)]; }
};

}  // namespace weft
