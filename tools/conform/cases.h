#pragma once
// What a backend is asked: every op by every type by shapes that are round, odd and long.

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
  std::int64_t limit = 1;             // inputs of whole numbers are 0 .. most - 1
  bool timed = false;                 // large enough for its time to say something
};

// `layouts`: types of the backend's own for weights in memory.
std::vector<Case> all_cases(std::span<const DType> layouts);

}  // namespace weft::conform
