#pragma once
// Inputs that cross the boundaries at which plans and kernels behave differently: a token in the
// next block of cells, the first one that a window drops, a step in the next width class, a token
// in the next tile of a kernel. A mistake at one of them only shows with inputs of the right
// length, so the checks choose their inputs from here.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/check/verify_model.h"
#include "weft/run/session.h"

namespace weft::checks {

// The multiplications of the definitions of projections, or of attention, that are compared in a
// step by default: about a quarter of a second each.
inline constexpr std::int64_t kMaxInSample = 150'000'000;

// Tokens on either side of a boundary.
inline constexpr std::int64_t kMargin = 2;

// All in ascending order.
struct Borders {
  // Lengths of a sequence that fill a block of cells, a window or a chunk of attention, or at which
  // a recurrent state is kept as a checkpoint.
  std::vector<std::int64_t> lengths = {};
  // Numbers of tokens that fill a width class or a tile of a kernel.
  std::vector<std::int64_t> widths = {};
};
// All boundaries that the plans have. Of blocks, the first one and the last one that `n_tokens`
// tokens cross from both sides.
Borders borders_of(const PlannedModel& planned, std::int64_t n_tokens);

// The default inputs of the checks.
struct BorderInputs {
  // Number of random tokens from position 0 on: at least one block of cells, and otherwise those
  // that a model of this size computes within seconds.
  std::int64_t n_tokens = 0;
  // Those that can be reached: lengths within the context and the memory budget, and widths of
  // steps that take at most a second. Steps at lengths above n_tokens follow noise
  // (Session::fill_with_noise).
  Borders borders = {};
  std::int64_t context = 0;  // the context that all of them need
};
// Plans the model. Throws like plan_model().
BorderInputs border_inputs(const Model& model, const SessionOptions& options);

// Has the encoder of a model read the same text for every sequence, across the end of a block of
// cells if a step can have that many tokens. Does nothing for other models.
void encode_in_all_sequences(Session& session);
std::vector<std::int32_t> text_for(const Session& session);

// Always the same ids.
std::vector<std::int32_t> random_ids(const Model& model, std::int64_t n);

// A step of n tokens that starts at position `at`.
struct BorderStep {
  std::int64_t at = 0, n = 1;
  friend bool operator==(const BorderStep&, const BorderStep&) = default;
};
// Steps across the boundaries: the first length is crossed by one wide step from position 0, the
// others by short ones, and all of them by two decode steps on either side; further steps exactly
// fill a width, or are one token too long for it. The first three are the most useful. No step is
// longer than `max_width`, and none ends beyond the context.
inline constexpr std::size_t kBestBorderSteps = 3;
std::vector<BorderStep> border_steps(const Borders& borders, std::int64_t max_width,
                                     std::int64_t context);

// Divides n_tokens tokens into steps that exactly fill each width, and that are one token too long
// for it, in several passes over the tokens if necessary. REQUIRES: max_width > 0.
std::vector<std::vector<std::size_t>> passes_across_widths(const Borders& borders,
                                                           std::int64_t n_tokens,
                                                           std::int64_t max_width);

// How many of the steps a model of this size computes and checks within seconds, in their order; at
// least kBestBorderSteps, or all if there are fewer.
std::size_t n_affordable(const Model& model, std::span<const BorderStep> steps);

// Runs these steps in a session with one lane while time allows. Compares their nodes with
// the definitions (border_nodes.h), and adds them to `result`, with the reason if they ended early.
// Overwrites the sequence. Throws like Session and Verifier.
void verify_across_borders(Session& session, const BorderInputs& inputs, ModelVerification& result);

}  // namespace weft::checks
