#pragma once
// Compares the results of a kernel with the definition, within computed bounds.

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include <fmt/format.h>

namespace weft::test {

// The squared error relative to the squares of `want`. Infinite if the sizes differ.
inline double nmse(std::span<const float> got, std::span<const float> want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double error = 0, power = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += std::pow(double{got[i]} - double{want[i]}, 2);
    power += std::pow(double{want[i]}, 2);
  }
  return error / power;
}

// The element with the largest error relative to its bound; `excess` is that ratio, at most 1 if
// all elements are within bounds.
struct Worst {
  std::size_t index = 0;
  double excess = 0;
  float got = 0, expected = 0, bound = 0;

  std::string text() const {
    return fmt::format("element {}: got {}, expected {}, bound {}, {:.3g} times the bound", index,
                       got, expected, bound, excess);
  }
};

// NaN must be NaN in both, and infinities must be equal. REQUIRES: equal sizes.
inline Worst worst_of(std::span<const float> got, std::span<const float> expected,
                      std::span<const float> bounds) {
  Worst worst;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double miss = std::fabs(static_cast<double>(got[i]) - expected[i]);
    double excess = miss == 0       ? 0
                    : bounds[i] > 0 ? miss / bounds[i]
                                    : std::numeric_limits<double>::infinity();
    if (std::isnan(got[i]) && std::isnan(expected[i])) excess = 0;
    if (std::isinf(got[i]) && got[i] == expected[i]) excess = 0;
    if (std::isnan(excess)) excess = std::numeric_limits<double>::infinity();
    if (excess > worst.excess) worst = {i, excess, got[i], expected[i], bounds[i]};
  }
  return worst;
}

}  // namespace weft::test
