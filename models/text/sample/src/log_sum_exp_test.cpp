#include "weft/sample/log_sum_exp.h"

#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

namespace weft {
namespace {

std::vector<float> normal_logits(std::size_t n, std::uint32_t seed, float spread) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logits(n);
  for (float& v : logits) v = normal(random);
  return logits;
}

double exact_log_sum(std::span<const float> logits) {
  const double most = *std::ranges::max_element(logits);
  long double sum = 0;
  for (const float v : logits) sum += std::exp(static_cast<double>(v) - most);
  return most + static_cast<double>(std::log(sum));
}

TEST_CASE("log-sums are right for every length and spread") {
  for (const std::size_t n : {1, 2, 3, 4, 5, 7, 255, 256, 257, 1000, 32000}) {
    for (const float spread : {0.0f, 0.1f, 3.0f, 30.0f, 1000.0f}) {
      const auto logits = normal_logits(n, static_cast<std::uint32_t>(n), spread);
      CAPTURE(n);
      CAPTURE(spread);
      const double want = exact_log_sum(logits);
      // Terms are off by the rounding of the differences, of size up to 87, and 2 ulp of their own;
      // what is left out is below n e^-87.
      CHECK(std::abs(log_sum_exp(logits) - want) <= (87 * 0x1p-24 + 0x1p-22));
      CHECK(log_sum_exp(logits) >= *std::ranges::max_element(logits));
    }
  }
  const std::vector<float> masked{0, -INFINITY, 0};
  CHECK(log_sum_exp(masked) == doctest::Approx(std::log(2.0)).epsilon(1e-12));
}

}  // namespace
}  // namespace weft
