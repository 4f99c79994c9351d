#pragma once
// Made logits, and their log-sum in more precision than any code under test has.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace weft::test {

inline std::vector<float> normal_logits(std::size_t n, std::uint32_t seed, float spread = 8) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> logits(n);
  for (float& v : logits) v = spread * normal(random);  // 0 is no deviation for the distribution
  return logits;
}

inline double exact_log_sum(std::span<const float> logits) {
  const double max = *std::ranges::max_element(logits);
  long double sum = 0;
  for (const float v : logits) sum += std::exp(static_cast<double>(v) - max);
  return max + static_cast<double>(std::log(sum));
}

}  // namespace weft::test
