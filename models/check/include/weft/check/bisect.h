#pragma once
// Finds the pass or the kernel that makes a model's results wrong. Switches passes off, and
// replaces kernels by those of another backend, until the logits are right.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/run/session.h"

namespace weft {

struct BisectOptions {
  SessionOptions session;            // the configuration to examine; workers are always one
  std::vector<std::int32_t> tokens;  // at least one
  // The normalized squared error of logits above which they count as wrong. 0: 1e-8 for passes that
  // only rewrite; 1e-2 for lowerings, which may round; for kernels the error of the lowerings
  // alone, at least 1e-9. Kernels are compared with the definitions of the same nodes.
  double max_nmse = 0;
  std::function<void(const std::string&)> progress;  // a line per trial; may be empty. An exception
                                                     // that it throws ends the search
};

struct Bisection {
  enum class Culprit { none, pass, kernel } culprit = Culprit::none;
  std::vector<std::string> passes;  // the passes that must be off
  std::vector<std::string> rows;    // the wrong kernel rows
  std::vector<std::string> nodes;   // the nodes that they compute
  std::string first_node, where;    // the first node that suffices for a wrong result; its
                                    // builder's line
  std::vector<std::string> others;  // "avx2: right": other instruction sets on these nodes
  double nmse = 0, limit = 0;       // for the configuration as given
  double nmse_without = 0;          // without the culprit
  std::int64_t trials = 0;
  std::string to_text() const;
};

// Throws like Session; ValueError if there are no tokens, or if no switch makes the logits
// right (the definition of an op or the model itself is then wrong).
Bisection bisect(const std::shared_ptr<const Model>& model, const BisectOptions& options);

}  // namespace weft
