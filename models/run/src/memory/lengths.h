#pragma once
// The lengths of a session's sequences, and what calls may ask of them.

#include <cstdint>
#include <vector>

#include "memory/memory_limits.h"

namespace weft::run {

class Lengths {
 public:
  explicit Lengths(const MemoryLimits& limits)
      : limits_(limits), lengths_(static_cast<std::size_t>(limits.all())) {}

  std::int64_t n_sequences() const { return limits_.all(); }
  std::int64_t n_growing() const { return limits_.sequences; }
  std::int64_t of(std::int32_t sequence) const {
    return lengths_[static_cast<std::size_t>(sequence)];
  }
  void set(std::int32_t sequence, std::int64_t length) {
    lengths_[static_cast<std::size_t>(sequence)] = length;
  }

  // Throw ValueError for an unknown sequence, for one that does not grow, and for a length that the
  // sequence cannot have.
  void check(std::int64_t sequence) const;
  void check_grows(std::int64_t sequence) const;
  void check_length(std::int64_t sequence, std::int64_t length) const;

 private:
  const MemoryLimits limits_;
  std::vector<std::int64_t> lengths_;  // by sequence
};

}  // namespace weft::run
