#pragma once
// What a session keeps for the model's draft layer: the layer's memory of each sequence, and the
// features of tokens that it has not read yet.
//
// The layer reads pairs: the features of a token, and the token after it. So the features of the
// last token wait for the next token. Those of a step are only staged by it, because the layer's
// plan uses the same arena as the step's logits; they are read when the next call begins.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/run/session.h"

namespace weft::run {

class SessionMemory;

struct DraftState {
  // The tokens of a sequence at positions length - n_rows .. length - 1, whose features wait. All
  // but the first of them are in `tokens`.
  struct Followed {
    std::int64_t length = 0;
    std::int64_t n_rows = 0;
    std::vector<float> rows;  // [kDraftWidth + 1, D]
    std::vector<std::int32_t> tokens;
    std::optional<std::int32_t> guess;  // the first row was read together with this token
    std::int64_t n_true = 0;            // pairs in the layer's memory that are of the sequence
    std::int64_t n_chained = 0;         // and those of guesses behind them
  };
  struct Staged {
    std::int32_t token, sequence;  // sequence -1: dropped
    std::int64_t position;
  };

  // `memory` outlives it. In a session without a draft layer, everything stays empty.
  DraftState(SessionMemory& memory, std::int64_t D, const SessionOptions& options);
  std::int64_t bytes() const;  // as sequence_bytes() predicts

  void stage(const Staged& token, std::span<const float> features);
  // Adds a token to those that wait. Returns true if they are full.
  bool add(std::int32_t token, std::int32_t sequence, std::int64_t position,
           std::span<const float> features);
  // The first `n` rows, which wait no longer.
  void drop_rows(Followed& f, std::int64_t n);
  // As PerSequence's.
  void truncate(std::int32_t sequence, std::int64_t length);
  void copy(std::int32_t from, std::int32_t to, std::int64_t length);
  void forget(std::int32_t sequence);  // starts anew with the next token
  Followed& of(std::int32_t sequence) { return followed[static_cast<std::size_t>(sequence)]; }

  SessionMemory& memory;           // that the layer has
  std::size_t width;               // D
  std::vector<Followed> followed;  // by sequence
  std::vector<Staged> staged;
  std::vector<float> staged_rows;      // [prefill_width, D]
  std::int32_t chained_sequence = -1;  // whose guesses the layer can go on with
  std::vector<float> chained;          // [D]: what the layer passes on to itself
  std::vector<StepToken> step;         // used by DraftLayer::run(), so that it does not allocate
};

}  // namespace weft::run
