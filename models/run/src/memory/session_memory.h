#pragma once
// The memory of a session's sequences: their lengths, and all kinds of memory.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/run/session.h"

#include "memory/lengths.h"
#include "memory/per_sequence.h"
#include "memory/sequence_memory.h"

namespace weft::run {

class SessionMemory final : public PerSequence {
 public:
  struct State {
    SequenceMemory* part;
    const StateStore::State* state;
  };

  // Steps have at most `step_tokens` tokens.
  SessionMemory(const MemoryLimits& limits, std::int64_t step_tokens,
                std::vector<std::unique_ptr<SequenceMemory>> parts);

  const Lengths& lengths() const { return lengths_; }
  std::int64_t length(std::int32_t sequence) const { return lengths_.of(sequence); }
  std::span<const std::unique_ptr<SequenceMemory>> parts() const { return parts_; }
  // Throws like Lengths::check_length(), and BudgetError if that many tokens do not fit.
  void check_room(std::int32_t sequence, std::int64_t length) const;

  // A step with one token of each of these sequences, which may repeat: begin(), then append() if
  // it was computed, or rollback() if not. begin() throws like Lengths, and BudgetError if
  // the step does not fit; it then has changed nothing.
  template <class Tokens>  // with a member `sequence` each
  void begin(const Tokens& tokens) {
    step_.clear();
    for (const auto& t : tokens) {
      lengths_.check_grows(t.sequence);
      lengths_.check_length(t.sequence, step_.append(t.sequence, length(t.sequence)));
    }
    reserve();
  }
  // Like begin() of a step that reads tokens which sequences have, or computes them again.
  // Nothing is reserved, and nothing is to be appended. REQUIRES: what it computes is in memory
  // that no other sequence shares.
  template <class Places>
  void begin_repeating(const Places& places) {
    step_.clear();
    for (const TokenPlace& p : places) step_.repeat(p.sequence, length(p.sequence), p.position);
  }
  // The places of the step's tokens.
  std::span<const TokenPlace> step() const { return step_.tokens(); }
  void append();
  void rollback();

  // The graph's inputs that write_inputs() fills, in its order.
  const std::vector<std::string>& input_names() const { return input_names_; }
  void write_inputs(std::span<const InputValues> inputs);

  std::int64_t resume_point(std::int32_t sequence, std::int64_t length) const override;
  void truncate(std::int32_t sequence, std::int64_t length) override;
  void copy(std::int32_t from, std::int32_t to, std::int64_t length) override;
  void mark(std::int32_t sequence, std::int64_t length) override;
  // Makes room: the sequence forgets some of the lengths that it could be continued from, marks
  // last. Returns false if that freed nothing.
  bool thin(std::int32_t sequence);
  std::size_t n_states() const override { return states_.size(); }
  SavedShape saved_shape(std::int32_t sequence, std::size_t state,
                         const SavedRange& range) const override;
  void save(std::int32_t sequence, std::size_t state, const SavedRange& range,
            const StateStore::Sink& sink) const override;
  std::int64_t resume_point_of_saved(std::int64_t length, std::int64_t saved_length,
                                     std::span<const SavedState> states) const override;
  void check_saved(std::int32_t sequence, std::int64_t length,
                   std::span<const std::int32_t> saved_tokens,
                   std::span<const SavedState> states) const override;
  void restore(std::int32_t sequence, std::int64_t length,
               std::span<const std::int32_t> saved_tokens,
               std::span<const SavedState> states) override;
  void fill_with_noise(std::int32_t sequence, std::int64_t length) override;

 private:
  void reserve();
  // The rows that a part of a replaced sequence gets: `n` of them, from the nth saved one on.
  struct NewRows {
    std::int64_t begin = 0, n = 0;
    std::span<const std::int64_t> lengths = {};
  };
  template <class Fill>
  void replace(std::int32_t sequence, std::int64_t length, std::span<const NewRows> of_parts,
               Fill fill);
  const std::vector<std::unique_ptr<SequenceMemory>> parts_;
  std::vector<State> states_;  // the states of all parts
  std::vector<std::string> input_names_;
  std::vector<std::size_t> n_inputs_;  // by part
  Lengths lengths_;
  std::vector<std::vector<std::int64_t>> marks_;  // by sequence, ascending
  StepTokens step_;                               // empty between steps
};

// Sequences that grow forget lengths that they could be continued from: first the one that lacks
// room, then the others. Returns false if that frees nothing.
bool make_room(SessionMemory& memory, std::int32_t wants);

}  // namespace weft::run
