#pragma once
// Runs one case on one backend: planned and replayed like any graph, including copies between
// devices, and compared with the scalar definition.

#include <string>

#include "weft/scheduler/routing.h"
#include "weft/scheduler/verify.h"

#include "conform/cases.h"

namespace weft::conform {

struct Outcome {
  bool supported = false;
  std::string kernel;
  NodeCheck check;    // the check of the node, if it is supported
  double ns = 0;      // the fastest of some calls; 0 if it was not timed
  Cost cost;          // the cost of one call
  std::string error;  // empty: it ran without errors
  bool passed() const { return error.empty() && check.passed(); }
};

Outcome run_case(const Routes& routes, const Backend& backend, const Case& c);

}  // namespace weft::conform
