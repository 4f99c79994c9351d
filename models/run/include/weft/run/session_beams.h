#pragma once
// Hypotheses of a beam search as sequences of a session.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/sample/beam_search.h"

namespace weft {

class Session;

// All hypotheses advance in one step of the session, and share the memory of their common prefix.
class SessionBeams : public BeamModel {
 public:
  // Sequence 0 holds the prompt, and the session has the logits of its last token. The search may
  // have one beam for each sequence of the session. Nothing else may use the session meanwhile.
  // Throws ValueError if the session's prefill_width or logits_rows is less than its sequences.
  explicit SessionBeams(Session& session, const std::atomic<bool>* cancel = nullptr);

  std::span<const float> logprobs(std::size_t beam) override;
  // Whether the token ends a text according to the vocabulary. Only the most likely of these tokens
  // has a probability, because they are equivalent.
  bool ends(std::size_t beam, TokenId token) override;
  // Throws like Session::step().
  void advance(std::span<const BeamStep> chosen) override;

 private:
  void move_to(std::span<const BeamStep> chosen);

  Session& session_;
  const std::atomic<bool>* cancel_;
  const std::size_t n_sequences_;
  std::vector<std::size_t> slot_of_;  // by hypothesis: its sequence
  std::span<const float> rows_;       // logits of all hypotheses, in the session's memory
  std::size_t n_vocab_;
  std::vector<float> row_;
};

}  // namespace weft
