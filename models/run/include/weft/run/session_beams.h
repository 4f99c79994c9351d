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

// Hypotheses as sequences of a session. All of them take one step at a time, and share what was
// computed of their common beginning.
class SessionBeams : public BeamModel {
 public:
  // Sequence 0 holds the prompt, and the session has the logits of its last token. The search may
  // have as many beams as the session has sequences; no other use of the session in between.
  // Throws ValueError where steps of that width or that many rows of logits do not fit.
  explicit SessionBeams(Session& session, const std::atomic<bool>* cancel = nullptr);

  std::span<const float> logprobs(std::size_t beam) override;
  // What ends a text by the vocabulary. Of such tokens only the likeliest has a probability: they
  // mean the same.
  bool ends(std::size_t beam, TokenId token) override;
  // Throws like Session::step().
  void advance(std::span<const BeamStep> chosen) override;

 private:
  void move_to(std::span<const BeamStep> chosen);

  Session& session_;
  const std::atomic<bool>* cancel_;
  const std::size_t n_sequences_;
  std::vector<std::size_t> slot_of_;  // by hypothesis: its sequence
  std::span<const float> rows_;       // of all hypotheses, in the session's memory
  std::size_t n_vocab_;
  std::vector<float> row_;
};

}  // namespace weft
