#pragma once
// A range of the tokens of a sequence.

#include <cstdint>

namespace weft {

// The positions begin .. end - 1.
struct TokenRange {
  std::int64_t begin = 0, end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const TokenRange&) const = default;
};

}  // namespace weft
