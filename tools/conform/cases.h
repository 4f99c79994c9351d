#pragma once
// The conformance cases: every op with every type and with round, odd and long shapes.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::conform {

struct Case {
  std::string op;                     // the name
  std::string types;                  // "Q4_K", "F16 F16"
  std::string shape;                  // "7 x 256 -> 100"
  std::function<void(Graph&)> build;  // makes one op node, named "node", and the output "y"
  std::int64_t limit = 1;             // integer inputs are 0 .. limit - 1
  bool timed = false;                 // large enough for a meaningful time
};

// Adds the cases of op_cases.cpp.
void add_op_cases(std::vector<Case>& cases);

// `layouts`: Backend::layouts().
std::vector<Case> all_cases(std::span<const DType> layouts);

}  // namespace weft::conform
