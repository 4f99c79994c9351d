#pragma once
// Measured numbers for people: fixed notation, never "1e+03" or "5.95e-06".

#include <cstdint>
#include <string>

namespace weft {

// Three significant digits, and all digits of the integer part: "0.00123", "1.23", "12.3", "1234".
// "0" for 0, "-" for what is not a finite number.
std::string three_digits(double value);
// A duration in the unit that fits: "850 ns", "5.95 us", "1.00 ms", "600 s".
std::string human_ns(double ns);
// "612.4 MiB": three to four digits, powers of 1024.
std::string human_bytes(std::int64_t bytes);

}  // namespace weft
