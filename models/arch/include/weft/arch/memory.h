#pragma once
// The state of sequences from step to step, as builder code sees it: by kind. The session decides
// where it is stored, how it is shared and how it is saved.
//
//   in.memory.attend(layer, q, k, v, attrs)              keys, values of all tokens
//   in.memory.window(512).attend(layer, q, k, v, attrs)  of the last 512 tokens
//   in.memory.both_ways().attend(layer, q, k, v, attrs)  also of tokens that come later
//   in.memory.attend_stored(layer, q, attrs)             keys, values of an earlier layer
//   in.memory.attend_latent(layer, q, c, attrs)          one vector per token, key and value
//   in.memory.chosen(in.memory.choose(layer, ..)).attend(..)  of the tokens that an indexer chooses
//   in.memory.every(4).keep_latent(layer, c)             one vector per 4 tokens, for attend_latent
//   in.memory.attend_beside(layer, q, c, attrs, in.memory.keep_fixed(layer, rows))  learned cells
//   in.memory.recurrent("conv.3", {D})                   a state of fixed size
//   in.memory.both_ways().centred_conv(x, w)             nothing, but needs the whole sequence
//   in.memory.attend_encoded(layer, q, kv, attrs)        keys, values of the encoder's text

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/ops/attention/attention.h"
#include "weft/ops/attention/choose_positions.h"
#include "weft/ops/attention/joined_attention.h"
#include "weft/ops/recurrent/delta_rule.h"
#include "weft/ops/recurrent/state_rows.h"
#include "weft/ops/rows/pool_tokens.h"

namespace weft::arch {

// How many tokens truncate() can always remove from the end of a sequence, even with a window.
inline constexpr std::int64_t kGuaranteedRewind = 64;
// The interval of checkpoints of recurrent states, in tokens, and how many are kept.
inline constexpr std::int64_t kCheckpointEvery = 64, kCheckpoints = 4;

// What the rows of a part belong to.
enum class MemoryOf : std::uint8_t {
  sequence,  // the tokens of sequences
  text,      // the text that the encoder reads, one at a time
  encoded,   // what the encoder leaves of the text of each sequence
  drafts,    // the tokens of sequences, in a draft layer
};

// What the number of a part's rows depends on.
enum class RowsGrowWith : std::uint8_t {
  sequences,  // each sequence has as many of its own
  cells,      // blocks of a pool that all sequences share (MemorySizes::cells)
  nothing,    // all sequences read the same ones
};

// States of a graph that share one layout: a pool of rows. A row is a block of cells, or the state
// of a recurrent layer for one sequence.
struct MemoryPart {
  std::string_view kind;  // "cells", "rows" or "fixed", a name in the session's list of kinds
  std::string suffix;     // suffix of its inputs' names: "", ".w512"
  MemoryOf of = MemoryOf::sequence;
  std::int64_t window = 0;     // cells: the last positions that a token attends to; 0: all
  std::int64_t stride = 1;     // cells: positions per cell, without a window if above 1
  std::int64_t n_rows = 0;     // rows of the pool, for all sequences
  std::int64_t kept_rows = 0;  // those of them that no sequence that grows needs
  RowsGrowWith grow_with = RowsGrowWith::sequences;
  std::int64_t checkpoint_every = 0;  // tokens between states to return to; 0: there are none
  std::int64_t lasting_every = 0;     // between those that stay as long as there is room
  std::vector<std::string> states;    // their paths
};

// The parameters that determine the sizes of states.
struct MemorySizes {
  std::int64_t sequences = 1;
  std::int64_t context = 1;      // positions per sequence
  std::int64_t cells = 0;        // in the pool, for all sequences; 0: enough for all
  std::int64_t step_tokens = 1;  // in the session's widest step
  DType cache_k = f16, cache_v = f16;
  // How many of the last tokens of a step recurrent states can forget again.
  std::int64_t rewind = 0;
  // Sequences that do not grow and only keep what was copied to them, and the tokens for which
  // there is room beside that of the others. Windows then keep all their tokens, and recurrent
  // states their lasting checkpoints, while there is room.
  std::int64_t kept = 0, kept_tokens = 0;
  std::int64_t lasting_every = 256;   // tokens between such checkpoints: a multiple of
                                      // kCheckpointEvery
  MemoryOf own = MemoryOf::sequence;  // what the graph's tokens belong to: never `encoded`
};

// The keys and values of a layer's heads.
struct KvShape {
  std::int64_t G = 1, E = 1, Ev = 1;
};

// A state of fixed size per sequence. One call of one method may use it.
class Recurrent {
 public:
  // y[t] = a[t] * y[the previous token of the sequence] + x[t], elementwise, all [T, ...shape] f32;
  // the value before the first token is 0. Keeps the last value of each sequence as its state.
  Tensor scan(Tensor a, Tensor x, SourceLine where = std::source_location::current()) const;
  // For each token, the row of the previous token of its sequence, or 0 before the first
  // (ops/recurrent/token_shift.h):
  // x [T, D] -> [T, D]. The state is [D].
  Tensor token_shift(Tensor x, SourceLine where = std::source_location::current()) const;
  // A convolution along the tokens, per channel (ops/recurrent/causal_conv.h): x [T, C], w [C, K],
  // bias [C] or absent -> [T, C]. The state is [C, K - 1].
  Tensor causal_conv(Tensor x, Tensor w, Tensor bias = {},
                     SourceLine where = std::source_location::current()) const;
  // Linear attention with decay (ops/recurrent/gated_linear_attention.h): q, k [T, G, N], v [T, H,
  // P], decay [T, H] or [T, H, N], bonus [H, N] or absent -> [T, H, P]. The state is [H, N, P].
  Tensor gated_linear_attention(Tensor q, Tensor k, Tensor v, Tensor decay, Tensor bonus = {},
                                SourceLine where = std::source_location::current()) const;
  // The delta rule (ops/recurrent/delta_rule.h) -> [T, H, P]. The state is [H, N, P].
  Tensor delta_rule(const DeltaRuleInputs& in,
                    SourceLine where = std::source_location::current()) const;
  // The rows of x [T, P E] of each span of positions, pooled by a softmax of scores
  // (ops/rows/pool_tokens.h); pos [T] -> [T, E]. The state is [E, P, 3].
  Tensor pool_tokens(Tensor x, Tensor scores, Tensor pos, const PoolTokensAttrs& attrs,
                     SourceLine where = std::source_location::current()) const;
  // The state space layer of Mamba (ops/recurrent/selective_scan.h): x, dt [T, I], a [I, N], b, c
  // [T, N] -> [T, I]. The state is [I, N].
  Tensor selective_scan(Tensor x, Tensor dt, Tensor a, Tensor b, Tensor c,
                        SourceLine where = std::source_location::current()) const;

 private:
  friend class Memory;
  StateRows rows_;
};

// What each token of a step attends to: spans of positions, as choose_positions gives them.
struct Chosen {
  Tensor spans;  // [T, C, K] i32; C is a divisor of the query heads
  std::int32_t span = 1;
};

// Cells that every token sees, whatever its sequence: the first `n` of a run.
struct FixedCells {
  LatentRun run;
  std::int32_t n = 0;
};

class Memory {
 public:
  // REQUIRES: `pos` [T] is an input of the graph: each token's position within its sequence.
  Memory(Graph& graph, Tensor pos, const MemorySizes& sizes);

  // Stores this step's k [T, G, E] and v [T, G, E']. Every token attends to the tokens of its
  // sequence up to itself: q [T, H, E] -> [T, H, E'].
  Tensor attend(std::int64_t layer, Tensor q, Tensor k, Tensor v, const AttentionAttrs& attrs,
                const AttentionBias& bias = {},
                SourceLine where = std::source_location::current()) const;
  // Attends to the keys and values that attend() stored for an earlier layer, and stores none: q
  // [T, H, E] -> [T, H, E']. Throws ValueError if there are none in memory with this window.
  Tensor attend_stored(std::int64_t layer, Tensor q, const AttentionAttrs& attrs,
                       const AttentionBias& bias = {},
                       SourceLine where = std::source_location::current()) const;
  // As attend(), with one state whose vectors are both key and value: q [T, H, E], c [T, G, E] ->
  // [T, H, E]. In memory with a window and with G = 1, `more` are further cells of the same softmax
  // (ops/attention/joined_attention.h), as keep_latent() gives them.
  Tensor attend_latent(std::int64_t layer, Tensor q, Tensor c, const AttentionAttrs& attrs,
                       Tensor sinks = {}, const LatentRun& more = {},
                       SourceLine where = std::source_location::current()) const;
  // 0 .. n - 1 [n] i32: the rows of a weight that keep_fixed() stores. Throws ValueError if n < 1.
  Tensor fixed_places(std::int64_t n, SourceLine where = std::source_location::current()) const;
  // Stores c [N, 1, E], which does not depend on the tokens, for attend_beside().
  FixedCells keep_fixed(std::int64_t layer, Tensor c,
                        SourceLine where = std::source_location::current()) const;
  // As attend_latent(), with the fixed cells in the same softmax. Of tokens that were chosen, spans
  // are 1; memory with a window sees all of it.
  Tensor attend_beside(std::int64_t layer, Tensor q, Tensor c, const AttentionAttrs& attrs,
                       const FixedCells& fixed,
                       SourceLine where = std::source_location::current()) const;
  // Stores c [T, 1, E] for attend_latent() of another memory. A token sees all vectors of its
  // sequence that are stored, or those that were chosen.
  LatentRun keep_latent(std::int64_t layer, Tensor c,
                        SourceLine where = std::source_location::current()) const;
  // Memory with a cell for every n positions, for choose() and keep_latent(): the last token of
  // each n stores it, and tokens see the cells that are complete. Throws ValueError if n < 1.
  Memory every(std::int64_t n) const;
  // Memory in which a token attends to the last n tokens, including itself. Older ones are dropped.
  // Throws ValueError if n < 1.
  Memory window(std::int64_t n) const;
  // Memory in which a token sees every token of its sequence; or, with n > 0, those at most n / 2
  // positions away. The whole sequence must come in one step. Throws ValueError if n < 0 or n is 1.
  Memory both_ways(std::int64_t n = 0) const;
  // Memory in which a token sees the tokens of its own chunk of n positions, up to itself. Throws
  // ValueError if n < 1.
  Memory chunks(std::int64_t n) const;
  // Stores the keys k [T, 1, E] of an indexer, and chooses what the step's tokens attend to by its
  // queries q [T, H, E] and, if there are any, weights [T, H] (choose_positions.h).
  Chosen choose(std::int64_t layer, Tensor q, Tensor k, const ChoosePositionsAttrs& attrs,
                Tensor weights = {}, SourceLine where = std::source_location::current()) const;
  // Memory in which a token sees only what was chosen. Its attend() takes no softcap and no biases.
  Memory chosen(const Chosen& chosen) const;
  // A convolution along the tokens, per channel, that also sees later ones
  // (ops/recurrent/centred_conv.h): x [T, C], w [C, K] -> [T, C]. Throws ValueError in memory that
  // does not see both ways.
  Tensor centred_conv(Tensor x, Tensor w, SourceLine where = std::source_location::current()) const;
  // A state of this shape, zero before the first token. Names are unique in a graph.
  Recurrent recurrent(std::string_view name, const Shape& shape,
                      SourceLine where = std::source_location::current()) const;

  // For models of an encoder and a decoder (Architecture::encode). The encoder's graph keeps keys
  // [T, G, E] and values [T, G, Ev] of its text for a layer of the decoder. REQUIRES: once per
  // layer, in the encoder's graph, with the widths of the KvShape of attend_encoded().
  void keep_encoded(std::int64_t layer, Tensor k, Tensor v,
                    SourceLine where = std::source_location::current()) const;
  // Every token of the decoder's graph attends to all positions of the text of its sequence:
  // q [T, H, E] -> [T, H, Ev]. H is a multiple of kv.G. REQUIRES: once per layer, in the decoder's
  // graph; the encoder's graph keeps keys and values of the same shape for this layer.
  Tensor attend_encoded(std::int64_t layer, Tensor q, const KvShape& kv,
                        const AttentionAttrs& attrs,
                        SourceLine where = std::source_location::current()) const;

  // The parts that were requested so far.
  const std::vector<MemoryPart>& parts() const;

 private:
  struct Requests;  // shared by all copies
  struct Cells;
  struct Kept;

  MemoryPart& part(const MemoryPart& wanted) const;
  MemoryPart& rows() const;  // of recurrent states
  Cells cells(SourceLine where) const;
  AttentionRuns runs(const std::string& suffix, Tensor table, SourceLine where) const;
  Tensor keep(const Cells& cells, const std::string& state, DType dtype, Tensor x,
              SourceLine where) const;
  Tensor read(Tensor q, const Kept& kept, const Cells& cells, const AttentionAttrs& attrs,
              const AttentionBias& bias, SourceLine where) const;
  Tensor encoded_state(const std::string& name, DType dtype, std::int64_t G, std::int64_t E,
                       SourceLine where) const;
  Tensor input(const std::string& name, const Shape& shape, SourceLine where) const;

  std::shared_ptr<Requests> requests_;
  std::int64_t window_ = 0, chunk_ = 0, stride_ = 1;
  std::int64_t reach_ = 0;  // of both_ways(), to either side; 0: no end
  bool both_ways_ = false;
  Chosen chosen_;  // without spans: everything
};

}  // namespace weft::arch
