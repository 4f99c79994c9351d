#pragma once
// Finds the pass or the kernel that makes a model wrong, by switching passes off and kernels over
// to those of another backend until the logits come out right.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/run/session.h"

namespace weft {

struct BisectOptions {
  SessionOptions session;            // what is suspected; workers are always one
  std::vector<std::int32_t> tokens;  // at least one
  // Logits differ too much where their normalized squared error is above this. 0: for passes that
  // only rewrite 1e-8, for lowerings, which may round, 1e-2; for kernels a quarter of what the
  // lowerings alone make, at least 1e-9. Kernels are compared with the definitions of the same
  // nodes.
  double max_nmse = 0;
  std::function<void(const std::string&)> progress;  // a line per trial; may be empty. An exception
                                                     // that it throws ends the search
};

struct Bisection {
  enum class Guilt { none, pass, kernel } guilt = Guilt::none;
  std::vector<std::string> passes;  // that must be off, where a pass is to blame
  std::vector<std::string> rows;    // kernel rows to blame
  std::vector<std::string> nodes;   // that they compute
  std::string first_node, where;    // the first one that is enough to be wrong; the builder's line
  std::vector<std::string> others;  // "avx2: right", of other instruction sets for these nodes
  double nmse = 0, limit = 0;       // as it is
  double nmse_without = 0;          // without what is to blame
  std::int64_t trials = 0;
  std::string to_text() const;
};

// Throws what Session throws; ValueError where there are no tokens, or where no switch mends the
// logits (then the definition of an op, or the model itself, is wrong).
Bisection bisect(const std::shared_ptr<const Model>& model, const BisectOptions& options);

}  // namespace weft
