#include "weft/ops/formats/half.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

namespace weft {
namespace {

// The value of an f16 by its definition, in double.
double f16_value(std::uint16_t h) {
  const int exponent = h >> 10 & 31;
  const double mantissa = h & 1023;
  const double magnitude =
      exponent ? std::ldexp(1 + mantissa / 1024, exponent - 15) : std::ldexp(mantissa / 1024, -14);
  return h & 0x8000 ? -magnitude : magnitude;
}

TEST_CASE("every f16 decodes to its value and encodes back to itself") {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto h = static_cast<std::uint16_t>(i);
    const float f = f16_to_f32(h);
    CAPTURE(i);
    if ((h & 0x7c00) == 0x7c00) {
      REQUIRE(((h & 0x3ff) ? std::isnan(f) : std::isinf(f)));
      REQUIRE(f32_to_f16(f) == ((h & 0x3ff) ? (h | 0x200) : h));
    } else {
      REQUIRE(static_cast<double>(f) == f16_value(h));
      REQUIRE(std::signbit(f) == ((h & 0x8000) != 0));
      REQUIRE(f32_to_f16(f) == h);
    }
  }
}

TEST_CASE("f32 to f16 rounds to nearest, ties to even, at every boundary between neighbours") {
  for (std::uint16_t h = 0; h < 0x7c00; ++h) {
    const double low = f16_value(h);
    const double high = h + 1 == 0x7c00 ? 65536.0 : f16_value(static_cast<std::uint16_t>(h + 1));
    const auto middle = static_cast<float>((low + high) / 2);  // exact: one more bit than f16 has
    CAPTURE(h);
    const int even = h % 2 ? h + 1 : h;
    REQUIRE(f32_to_f16(middle) == even);
    REQUIRE(f32_to_f16(-middle) == (even | 0x8000));
    REQUIRE(f32_to_f16(std::nextafter(middle, 0.0f)) == h);
    REQUIRE(f32_to_f16(std::nextafter(middle, 1e9f)) == h + 1);
  }
  CHECK(f32_to_f16(std::numeric_limits<float>::max()) == 0x7c00);
  CHECK(f32_to_f16(std::numeric_limits<float>::denorm_min()) == 0);
}

TEST_CASE("bf16 is the upper half, rounded to nearest even") {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto b = static_cast<std::uint16_t>(i);
    const float f = bf16_to_f32(b);
    CAPTURE(i);
    if (std::isnan(f)) {
      REQUIRE(f32_to_bf16(f) == (b | 0x40));
      continue;
    }
    REQUIRE(f32_to_bf16(f) == b);
    if ((b & 0x7f80) == 0x7f80) continue;
    const std::uint32_t bits = i << 16;
    REQUIRE(f32_to_bf16(std::bit_cast<float>(bits | 0x7fff)) == b);
    REQUIRE(f32_to_bf16(std::bit_cast<float>(bits | 0x8001)) == b + 1);
    REQUIRE(f32_to_bf16(std::bit_cast<float>(bits | 0x8000)) == (b % 2 ? b + 1 : b));
  }
}

}  // namespace
}  // namespace weft
