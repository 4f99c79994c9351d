#pragma once
// Checksums of file contents: XXH3 with 64 bits (https://xxhash.com).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

// The checksum of bytes that come in pieces, however they are split.
class Checksum {
 public:
  Checksum();
  void add(std::span<const std::byte> bytes);
  std::uint64_t value() const;  // the checksum of all bytes so far

 private:
  alignas(64) std::array<std::byte, 576> state_;  // XXH3_state_t
};

std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace weft
