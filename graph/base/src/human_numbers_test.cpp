#include "weft/base/human_numbers.h"

#include <limits>

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("numbers have three digits in fixed notation") {
  CHECK(three_digits(0) == "0");
  CHECK(three_digits(1) == "1.00");
  CHECK(three_digits(0.00012345) == "0.000123");
  CHECK(three_digits(9.994) == "9.99");
  CHECK(three_digits(9.996) == "10.0");
  CHECK(three_digits(99.96) == "100");
  CHECK(three_digits(1234567.8) == "1234568");
  CHECK(three_digits(-12.34) == "-12.3");
  CHECK(three_digits(std::numeric_limits<double>::quiet_NaN()) == "-");
  CHECK(three_digits(std::numeric_limits<double>::infinity()) == "-");
}

TEST_CASE("durations have the unit that fits") {
  CHECK(human_ns(0) == "0 ns");
  CHECK(human_ns(850) == "850 ns");
  CHECK(human_ns(999.7) == "1.00 us");
  CHECK(human_ns(5950) == "5.95 us");
  CHECK(human_ns(100e3) == "100 us");
  CHECK(human_ns(999.9e3) == "1.00 ms");
  CHECK(human_ns(1e6) == "1.00 ms");
  CHECK(human_ns(59.5e9) == "59.5 s");
  CHECK(human_ns(12345e9) == "12345 s");
  CHECK(human_ns(-2e6) == "-2.00 ms");
  CHECK(human_ns(std::numeric_limits<double>::infinity()) == "-");
}

}  // namespace weft
