#pragma once
// 32 codes of 5 bits as Q5_0 and Q5_1 keep them: nibbles as in Q4_0, and a bit for each in `high`.

#include <cstdint>

namespace weft::formats {

inline void get_five_bits(const std::uint8_t (&low)[16], const std::uint8_t (&high)[4],
                          std::uint8_t* codes) {
  for (int i = 0; i < 32; ++i) {
    const int nibble = i < 16 ? low[i] & 15 : low[i - 16] >> 4;
    codes[i] = static_cast<std::uint8_t>(nibble | (high[i / 8] >> i % 8 & 1) << 4);
  }
}

inline void put_five_bits(const std::uint8_t* codes, std::uint8_t (&low)[16],
                          std::uint8_t (&high)[4]) {
  for (int i = 0; i < 16; ++i)
    low[i] = static_cast<std::uint8_t>((codes[i] & 15) | (codes[i + 16] & 15) << 4);
  for (int b = 0; b < 4; ++b) {
    int bits = 0;
    for (int i = 0; i < 8; ++i) bits |= (codes[8 * b + i] >> 4) << i;
    high[b] = static_cast<std::uint8_t>(bits);
  }
}

}  // namespace weft::formats
