#pragma once
// Runs the plans of the model's draft layer (Session::draft).

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "weft/run/session.h"

#include "memory/per_sequence.h"
#include "session/draft_state.h"

namespace weft::run {

struct Runner;

class DraftLayer final : public PerSequence {
 public:
  // What the session does for it: the plan for so many tokens, and running it.
  struct Uses {
    std::function<Runner&(std::size_t n_tokens)> runner;
    std::function<void(Runner&, const std::atomic<bool>* cancel)> run;
  };
  // `memory` is that of the layer. In a session without a draft layer, it only follows sequences.
  DraftLayer(std::unique_ptr<SessionMemory> memory, std::int64_t D, const SessionOptions& options,
             Uses uses);
  ~DraftLayer() override;

  const SessionMemory& memory() const { return *memory_; }

  // Keeps the features of a step that was computed. REQUIRES: `memory` has begun the step.
  void stage(std::span<const StepToken> tokens, const SessionMemory& memory, const Runner& step);
  // Reads what the last step left. This only saves time: what fails there begins anew.
  void read_staged(const std::atomic<bool>* cancel);
  // Reads all pairs of the sequence that are left.
  void read_all(std::int32_t sequence, const std::atomic<bool>* cancel);
  // As Session::draft(), of a sequence that has `length` tokens.
  std::span<const float> draft(std::int32_t sequence, std::int64_t length, std::int32_t token,
                               bool after_guesses, const std::atomic<bool>* cancel);

  std::int64_t bytes() const override { return state_.bytes(); }
  void truncate(std::int32_t sequence, std::int64_t length) override {
    state_.truncate(sequence, length);
  }
  void copy(std::int32_t from, std::int32_t to, std::int64_t length) override {
    state_.copy(from, to, length);
  }

 private:
  std::span<const float> run(std::int32_t sequence, std::span<const std::int32_t> tokens,
                             std::span<const float> features, const std::atomic<bool>* cancel);
  std::span<const float> first(std::int32_t sequence, std::int32_t token,
                               const std::atomic<bool>* cancel);

  const std::unique_ptr<SessionMemory> memory_;
  DraftState state_;
  Uses uses_;
};

}  // namespace weft::run
