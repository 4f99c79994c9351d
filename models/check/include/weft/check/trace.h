#pragma once
// A hash of every node's output in every step. Comparing two traces shows where two builds,
// instruction sets or machines diverge.

#include <memory>
#include <string>
#include <vector>

#include "weft/run/session.h"

namespace weft {

struct TracedNode {
  std::string path, op, kernel;
  std::string spec;        // "F32 [3, 64]", with the extents of this step
  std::uint64_t hash = 0;  // XXH3 of the concatenated rows
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
  // Throws FormatError, naming `name`, if the text is not a trace.
  static Trace parse(const std::string& json, const std::string& name);
};

// Runs all tokens but the last with prefill plans, then decodes `n_more` tokens greedily. Uses one
// lane; context 0: one cell per token. Throws like Session.
Trace trace_model(const std::shared_ptr<const Model>& model, const SessionOptions& session,
                  const std::vector<std::int32_t>& tokens, std::int64_t n_more);

struct TraceDifference {
  bool differs = false;
  std::size_t step = 0;
  std::string path;         // the first node that differs
  std::size_t node = 0;     // its index in the step, since paths may occur twice
  std::size_t n_nodes = 0;  // the number of nodes that differ, in all steps
  std::size_t n_compared = 0;
  // REQUIRES: the traces that were compared.
  std::string to_text(const Trace& a, const Trace& b) const;
};

// Throws ValueError if graphs or tokens of the traces differ: "step 0 has node 'blk.0.attn_qkv' in
// one trace, 'blk.0.attn_q' in the other".
TraceDifference compare(const Trace& a, const Trace& b);

}  // namespace weft
