#include "session/draft_layer.h"

#include <algorithm>

#include "weft/base/error.h"

#include "memory/session_memory.h"
#include "session/session_runner.h"

namespace weft::run {

DraftLayer::DraftLayer(std::unique_ptr<SessionMemory> memory, std::int64_t D,
                       const SessionOptions& options, Uses uses)
    : memory_(std::move(memory)), state_(*memory_, D, options), uses_(std::move(uses)) {}
DraftLayer::~DraftLayer() = default;

void DraftLayer::stage(std::span<const StepToken> tokens, const SessionMemory& memory,
                       const Runner& step) {
  const View features = step.executor.output("features");
  state_.staged.clear();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto* row = features.row<const float>(static_cast<std::int64_t>(i));
    state_.stage({tokens[i].token, tokens[i].sequence, memory.step()[i].position},
                 {row, state_.width});
  }
}

void DraftLayer::read_staged(const std::atomic<bool>* cancel) {
  for (std::size_t i = 0; i < state_.staged.size(); ++i) {
    const auto [token, sequence, position] = state_.staged[i];
    if (sequence < 0) continue;
    const auto row = std::span(state_.staged_rows).subspan(i * state_.width, state_.width);
    if (!state_.add(token, sequence, position, row)) continue;
    try {
      DraftState::Followed& f = state_.of(sequence);
      f.n_chained = 0;
      run(sequence, f.tokens, std::span(f.rows).first(f.tokens.size() * state_.width), cancel);
      f.n_true = state_.memory.length(sequence);
      state_.drop_rows(f, std::ssize(f.tokens));
    } catch (const Error&) {
      state_.forget(sequence);
    }
  }
  state_.staged.clear();
}

void DraftLayer::read_all(std::int32_t sequence, const std::atomic<bool>* cancel) {
  read_staged(cancel);
  if (cancel && *cancel) fail<CancelledError>("reading for drafts was cancelled");
  DraftState::Followed& f = state_.of(sequence);
  if (f.n_rows < 2) return;
  try {
    if (f.guess) --f.n_true;
    f.guess.reset();
    f.n_chained = 0;
    run(sequence, f.tokens, std::span(f.rows).first(f.tokens.size() * state_.width), cancel);
    f.n_true = state_.memory.length(sequence);
    state_.drop_rows(f, std::ssize(f.tokens));
  } catch (...) {
    state_.forget(sequence);
    throw;
  }
}

// Appends pairs to the layer's memory, and keeps what it passes on behind the last one, whose
// logits it returns.
std::span<const float> DraftLayer::run(std::int32_t sequence, std::span<const std::int32_t> tokens,
                                       std::span<const float> features,
                                       const std::atomic<bool>* cancel) {
  const DraftState::Followed& f = state_.of(sequence);
  SessionMemory& memory = state_.memory;
  const std::int64_t n = std::min(f.n_true + f.n_chained, memory.length(sequence));
  memory.truncate(sequence, memory.resume_point(sequence, n));
  state_.step.assign(tokens.size(), {.sequence = sequence});
  memory.begin(state_.step);
  try {
    Runner& r = uses_.runner(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      Runner::put(r.tokens, i, tokens[i]);
      Runner::put(r.pos, i, memory.step()[i].position);
    }
    Runner::put(r.out_rows, 0, std::ssize(tokens) - 1);
    std::ranges::copy(features, r.features.begin());
    memory.write_inputs(r.memory);
    r.extents[r.t] = std::ssize(tokens);
    r.extents[r.o] = 1;
    uses_.run(r, cancel);
    const View next = r.executor.output("features"), logits = r.executor.output("logits");
    std::copy_n(next.row<const float>(std::ssize(tokens) - 1), state_.width,
                state_.chained.begin());
    memory.append();
    state_.chained_sequence = sequence;
    return {logits.row<const float>(0), static_cast<std::size_t>(logits.cols())};
  } catch (...) {
    memory.rollback();
    throw;
  }
}

// Behind everything that waits.
std::span<const float> DraftLayer::first(std::int32_t sequence, std::int32_t token,
                                         const std::atomic<bool>* cancel) {
  DraftState::Followed& f = state_.of(sequence);
  if (f.guess) --f.n_true;
  f.guess.reset();
  f.n_chained = 0;
  f.tokens.push_back(token);
  const auto logits =
      run(sequence, f.tokens, std::span(f.rows).first(f.tokens.size() * state_.width), cancel);
  f.n_true = state_.memory.length(sequence);
  state_.drop_rows(f, f.n_rows - 1);
  f.tokens.clear();
  f.guess = token;
  return logits;
}

std::span<const float> DraftLayer::draft(std::int32_t sequence, std::int64_t length,
                                         std::int32_t token, bool after_guesses,
                                         const std::atomic<bool>* cancel) {
  try {
    read_staged(cancel);
    DraftState::Followed& f = state_.of(sequence);
    if (after_guesses && (!f.guess || state_.chained_sequence != sequence))
      fail<ValueError>("no draft to go on with for sequence {}", sequence);
    if (!after_guesses && (f.n_rows == 0 || f.length != length)) return {};
    if (!after_guesses) return first(sequence, token, cancel);
    f.n_chained = state_.memory.length(sequence) - f.n_true;
    return run(sequence, {&token, 1}, state_.chained, cancel);
  } catch (...) {
    state_.forget(sequence);
    throw;
  }
}

}  // namespace weft::run
