#pragma once
// Runs the plans of the model's draft layer (Session::draft).

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "weft/run/session.h"

#include "drafts/draft_state.h"

namespace weft::run {

struct Runner;

class DraftLayer {
 public:
  // What the session does for it: the plan for so many tokens, and running it.
  struct Uses {
    std::function<Runner&(std::size_t n_tokens)> runner;
    std::function<void(Runner&, const std::atomic<bool>* cancel)> run;
  };
  // `memory` outlives it. In a session without a draft layer, only truncate(), copy() and forget()
  // may be called.
  DraftLayer(SessionMemory& memory, std::int64_t D, const SessionOptions& options, Uses uses)
      : state_(memory, D, options), uses_(std::move(uses)) {}

  // Keeps the features of a step that was computed. REQUIRES: `memory` has begun the step.
  void stage(std::span<const StepToken> tokens, const SessionMemory& memory, const Runner& step);
  // Reads what the last step left. This only saves time: what fails there begins anew.
  void read_staged(const std::atomic<bool>* cancel);
  // Reads all pairs of the sequence that are left.
  void read_all(std::int32_t sequence, const std::atomic<bool>* cancel);
  // As Session::draft(), of a sequence that has `length` tokens.
  std::span<const float> draft(std::int32_t sequence, std::int64_t length, std::int32_t token,
                               bool after_guesses, const std::atomic<bool>* cancel);

  void truncate(std::int32_t sequence, std::int64_t length) { state_.truncate(sequence, length); }
  void copy(std::int32_t from, std::int32_t to, std::int64_t length) {
    state_.copy(from, to, length);
  }
  void forget(std::int32_t sequence) { state_.forget(sequence); }

 private:
  std::span<const float> run(std::int32_t sequence, std::span<const std::int32_t> tokens,
                             std::span<const float> features, const std::atomic<bool>* cancel);
  std::span<const float> first(std::int32_t sequence, std::int32_t token,
                               const std::atomic<bool>* cancel);

  DraftState state_;
  Uses uses_;
};

}  // namespace weft::run
