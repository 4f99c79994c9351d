#pragma once
// A hash of every node's output in every step: what two builds, instruction sets or machines
// compare to find where they part.

#include <memory>
#include <string>
#include <vector>

#include "weft/run/session.h"

namespace weft {

struct TracedNode {
  std::string path, op, kernel;
  std::string spec;        // "F32 [3, 64]", as it was in this step
  std::uint64_t hash = 0;  // XXH3, of the rows back to back
  friend bool operator==(const TracedNode&, const TracedNode&) = default;
};

struct TracedStep {
  std::string plan;
  std::vector<std::int32_t> tokens;
  std::vector<TracedNode> nodes;  // in plan order
};

struct Trace {
  std::string model, backend;  // its name; the backend's description
  std::vector<TracedStep> steps;

  std::string to_json() const;
  // Throws FormatError, naming `name`, for what is no trace.
  static Trace parse(const std::string& json, const std::string& name);
};

// All tokens but the last go through prefill plans, then one by one those that greedy choice adds,
// `n_more` of them. One lane; context 0: as many cells as tokens. Throws what Session throws.
Trace trace_model(const std::shared_ptr<const Model>& model, const SessionOptions& session,
                  const std::vector<std::int32_t>& tokens, std::int64_t n_more);

struct TraceDifference {
  bool differs = false;
  std::size_t step = 0;
  std::string path;         // the first node that differs
  std::size_t node = 0;     // which of the step's it is: paths may be there twice
  std::size_t n_nodes = 0;  // that differ, in all steps
  std::size_t n_compared = 0;
  // REQUIRES: the traces that were compared.
  std::string to_text(const Trace& a, const Trace& b) const;
};

// Throws ValueError where the traces are of different graphs or tokens: "step 0 has node
// 'blk.0.attn_qkv' in one trace, 'blk.0.attn_q' in the other".
TraceDifference compare(const Trace& a, const Trace& b);

}  // namespace weft
