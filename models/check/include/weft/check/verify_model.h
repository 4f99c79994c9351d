#pragma once
// A whole model, node by node against the scalar definitions (scheduler/verify.h), and what its
// errors add up to: every node against the plain graph computed by definitions alone, and against a
// dump of another engine.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/run/session.h"
#include "weft/scheduler/verify.h"

namespace weft {

// Tensors from elsewhere, by node path, slowest dimension first.
struct NamedTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
using Dump = std::map<std::string, NamedTensor, std::less<>>;

struct VerifyOptions {
  SessionOptions session;            // workers are always one; context 0: as many as are run
  std::vector<std::int32_t> tokens;  // at least one
  bool plain = true;                 // also run the plain graph by definitions
  const Dump* dump = nullptr;        // of all tokens; logits of every position
  // Afterwards also steps of random ids that cross the borders which plan and kernels know: blocks
  // of cells, width classes. Of their projections the last rows are compared.
  bool borders = false;
};

struct VerifiedStep {
  std::string plan;
  VerifyReport report;
  // Of steps across borders: how many tokens, from which position on. 0: one of `tokens`.
  std::int64_t n_tokens = 0, position = 0;
};

struct ModelVerification {
  std::string backend;  // its description
  std::vector<std::string> passes_off;
  std::vector<VerifiedStep> steps;
  std::string stopped;   // what ended it early: logits that are NaN; or empty
  std::string narrowed;  // why steps are less wide than prefill: their nodes' values are kept, and
                         // must fit into what the memory budget leaves; or empty
  // Of the logits; negative where there is nothing to compare with.
  double nmse_from_plain = -1, nmse_from_dump = -1;
  std::int64_t logits_rows = 0,
               same_best = 0;             // rows whose largest logit is that of the plain graph
  std::int64_t dump_matched = 0;          // tensors of the dump that are nodes here
  std::vector<std::string> dump_unknown;  // names in the dump that are no node

  const NodeCheck* first_bad() const;
  bool passed() const { return !first_bad() && stopped.empty(); }
  std::string to_text() const;
  std::string to_json() const;
};

// All tokens but the last go through prefill plans, the last one through the decode plan. Throws
// what Session throws, ValueError if there are no tokens, and ShapeError for a dump whose tensor
// has another shape than the node: "dump: 'blk.0.attn_q' must be [5, 64], got [4, 64]", or other
// values than its shape says; ValueError for one none of whose names is a node.
ModelVerification verify_model(const std::shared_ptr<const Model>& model,
                               const VerifyOptions& options);

// sum (got - want)^2 / sum want^2; infinity where something is not finite. REQUIRES: equal sizes.
double nmse(std::span<const float> got, std::span<const float> want);

}  // namespace weft
