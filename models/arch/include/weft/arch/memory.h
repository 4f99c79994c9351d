#pragma once
// The state of sequences from step to step, as builder code sees it: by kind. The session decides
// where it is stored, how it is shared and how it is saved.
//
//   in.memory.attend(layer, q, k, v, attrs)              keys, values of all tokens
//   in.memory.window(512).attend(layer, q, k, v, attrs)  of the last 512 tokens
//   in.memory.both_ways().attend(layer, q, k, v, attrs)  also of tokens that come later
//   in.memory.attend_latent(layer, q, c, attrs)          one vector per token, key and value
//   in.memory.recurrent("conv.3", {D})                   a state of fixed size

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/ops/attention.h"
#include "weft/ops/delta_rule.h"
#include "weft/ops/state_rows.h"

namespace weft {

// How many tokens truncate() can always remove from the end of a sequence, even with a window.
inline constexpr std::int64_t kGuaranteedRewind = 64;
// The interval of checkpoints of recurrent states, in tokens, and how many are kept.
inline constexpr std::int64_t kCheckpointEvery = 64, kCheckpoints = 4;

// States of a graph that share one layout: a pool of rows. A row is a block of cells, or the state
// of a recurrent layer for one sequence.
struct MemoryPart {
  std::string_view kind;            // "cells" or "rows", a name in the session's list of kinds
  std::string suffix;               // of the names of its inputs: "", ".w512"
  std::int64_t window = 0;          // cells: the last positions that a token attends to; 0: all
  std::int64_t n_rows = 0;          // of all sequences together
  std::vector<std::string> states;  // their paths
};

// The parameters that determine the sizes of states.
struct MemorySizes {
  std::int64_t sequences = 1;
  std::int64_t context = 1;      // positions per sequence
  std::int64_t cells = 0;        // of all sequences together; 0: enough for all of them
  std::int64_t step_tokens = 1;  // of the widest step of the session
  DType cache_k = f16, cache_v = f16;
};

// A state of fixed size per sequence. One call of one method may use it.
class Recurrent {
 public:
  // y[t] = a[t] * y[the previous token of the sequence] + x[t], elementwise, all [T, ...shape] f32;
  // the value before the first token is 0. Keeps the last value of each sequence as its state.
  Tensor scan(Tensor a, Tensor x,
              std::source_location where = std::source_location::current()) const;
  // The row of the previous token of each sequence, 0 before the first (ops/token_shift.h): x [T,
  // D]
  // -> [T, D]. The state is [D].
  Tensor token_shift(Tensor x, std::source_location where = std::source_location::current()) const;
  // A convolution along the tokens, per channel (ops/causal_conv.h): x [T, C], w [C, K], bias [C]
  // or absent -> [T, C]. The state is [C, K - 1].
  Tensor causal_conv(Tensor x, Tensor w, Tensor bias = {},
                     std::source_location where = std::source_location::current()) const;
  // Linear attention with decay (ops/gated_linear_attention.h): q, k [T, G, N], v [T, H, P], decay
  // [T, H] or [T, H, N], bonus [H, N] or absent -> [T, H, P]. The state is [H, N, P].
  Tensor gated_linear_attention(Tensor q, Tensor k, Tensor v, Tensor decay, Tensor bonus = {},
                                std::source_location where = std::source_location::current()) const;
  // The delta rule (ops/delta_rule.h) -> [T, H, P]. The state is [H, N, P].
  Tensor delta_rule(const DeltaRuleInputs& in,
                    std::source_location where = std::source_location::current()) const;

 private:
  friend class Memory;
  StateRows rows_;
};

class Memory {
 public:
  // REQUIRES: `pos` [T] is an input of the graph: each token's position within its sequence.
  Memory(Graph& graph, Tensor pos, const MemorySizes& sizes);

  // Stores this step's k [T, G, E] and v [T, G, E']. Every token attends to the tokens of its
  // sequence up to itself: q [T, H, E] -> [T, H, E'].
  Tensor attend(std::int64_t layer, Tensor q, Tensor k, Tensor v, const AttentionAttrs& attrs,
                const AttentionBias& bias = {},
                std::source_location where = std::source_location::current()) const;
  // The same with one state whose vectors are both key and value: q [T, H, E], c [T, G, E] ->
  // [T, H, E].
  Tensor attend_latent(std::int64_t layer, Tensor q, Tensor c, const AttentionAttrs& attrs,
                       std::source_location where = std::source_location::current()) const;
  // Memory in which a token attends to the last n tokens, including itself. Older ones are dropped.
  // Throws ValueError if n < 1.
  Memory window(std::int64_t n) const;
  // Memory of which a token sees every token of its sequence; or, with n > 0, those at most n / 2
  // positions away. The whole sequence must come in one step. Throws ValueError if n < 0.
  Memory both_ways(std::int64_t n = 0) const;
  // Memory of which a token sees the tokens of its own chunk of n positions, up to itself. Throws
  // ValueError if n < 1.
  Memory chunks(std::int64_t n) const;
  // A state of this shape, zero before the first token. Names are unique in a graph.
  Recurrent recurrent(std::string_view name, const Shape& shape,
                      std::source_location where = std::source_location::current()) const;

  // The parts that were requested so far.
  const std::vector<MemoryPart>& parts() const;

 private:
  struct Requests;  // shared by all copies
  struct Cells;

  MemoryPart& part(const MemoryPart& wanted) const;
  Cells cells(std::source_location where) const;
  AttentionRuns runs(const std::string& suffix, Tensor table, std::source_location where) const;
  Tensor keep(const Cells& cells, const std::string& state, DType dtype, Tensor x,
              std::source_location where) const;
  Tensor input(const std::string& name, const Shape& shape, std::source_location where) const;

  std::shared_ptr<Requests> requests_;
  std::int64_t window_ = 0, chunk_ = 0;
  std::int64_t reach_ = 0;  // of both_ways(), to either side; 0: no end
  bool both_ways_ = false;
};

}  // namespace weft
