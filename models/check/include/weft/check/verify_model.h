#pragma once
// Verifies a whole model: every node against its scalar definition (scheduler/verify.h). Also shows
// accumulated errors: every node against the plain graph computed by definitions, and against a
// dump of another program.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/run/session.h"
#include "weft/scheduler/verify.h"

namespace weft {

// Tensors of another program, by node path, slowest dimension first.
struct NamedTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
using Dump = std::map<std::string, NamedTensor, std::less<>>;

struct VerifyOptions {
  SessionOptions session;            // workers are always one; context 0: the number of tokens
  std::vector<std::int32_t> tokens;  // at least one
  bool plain = true;                 // also run the plain graph by definitions
  const Dump* dump = nullptr;        // for all tokens, with the logits of every position
  // Also run steps of random ids that cross the boundaries of blocks of cells and of width classes.
  // Only the last rows of their projections are compared. All in all this takes seconds: for a
  // large model, only a sample of the projections for `tokens` is compared
  // (VerifiedStep::every_projection).
  bool borders = false;
};

struct VerifiedStep {
  std::string plan;
  VerifyReport report;
  // For steps across boundaries: their tokens and first position. 0: a step of `tokens`.
  std::int64_t n_tokens = 0, position = 0;
  // One in this many nodes of each kind that reads a matrix was compared. 1: all.
  std::int64_t every_projection = 1;
};

struct ModelVerification {
  std::string backend;  // its description
  std::vector<std::string> passes_off;
  std::vector<VerifiedStep> steps;
  std::string stopped;   // why it ended early (logits are NaN); empty: it did not
  std::string narrowed;  // why steps are narrower than prefill (the values of all nodes must fit
                         // into the memory budget); empty: they are not
  // The errors of the logits; negative if there is nothing to compare with.
  double nmse_from_plain = -1, nmse_from_dump = -1;
  std::int64_t logits_rows = 0;
  std::int64_t same_best = 0;             // rows whose largest logit is that of the plain graph
  std::int64_t dump_matched = 0;          // tensors of the dump that match a node
  std::vector<std::string> dump_unknown;  // names in the dump that match no node

  const NodeCheck* first_bad() const;
  bool passed() const { return !first_bad() && stopped.empty(); }
  std::string to_text() const;
  std::string to_json() const;
};

// Runs all tokens but the last with prefill plans, and the last one with the decode plan. Throws
// like Session; ValueError if there are no tokens or if no name of the dump matches a node;
// ShapeError if a tensor of the dump has another shape than its node ("dump: 'blk.0.attn_q' must be
// [5, 64], got [4, 64]") or a number of values that does not match its shape.
ModelVerification verify_model(const std::shared_ptr<const Model>& model,
                               const VerifyOptions& options);

// The largest nmse() from passes that only rewrite, which change the order of sums.
inline constexpr double kRewriteLimit = 1e-8;

// sum (got - want)^2 / sum want^2; infinity if a value is not finite. REQUIRES: equal sizes.
double nmse(std::span<const float> got, std::span<const float> want);

}  // namespace weft
