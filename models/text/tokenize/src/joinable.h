#pragma once
// Finds where a text can be divided before tokens are merged.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/base/utf8.h"

namespace weft::tokenize {

// Which pairs of characters are adjacent inside some token, hashed into a fixed set of bits.
// Merging never crosses a boundary between two characters that no token contains, so the text can
// be divided there into independent parts. A false positive only makes a part longer.
class JoinableNeighbours {
 public:
  void add(std::string_view token) {
    for (std::size_t at = 0; at < token.size();) {
      const std::size_t next = at + decode_utf8(token, at).length;
      if (next < token.size()) bits_[slot(token, at, next)] = true;
      at = next;
    }
  }
  bool contains(std::string_view text, std::size_t left, std::size_t right) const {
    return bits_[slot(text, left, right)];
  }

 private:
  static constexpr std::size_t kBits = 20;

  static std::size_t slot(std::string_view text, std::size_t left, std::size_t right) {
    const auto code = [&](std::size_t at) {
      const Utf8Char c = decode_utf8(text, at);
      return c.valid ? std::uint64_t{c.code} : 0x110000u + static_cast<std::uint8_t>(text[at]);
    };
    const std::uint64_t pair = code(left) << 21 | code(right);
    return static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15u) >> (64 - kBits));
  }

  std::vector<bool> bits_ = std::vector<bool>(std::size_t{1} << kBits, false);
};

}  // namespace weft::tokenize
