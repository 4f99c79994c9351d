#include "weft/sample/log_sum_exp.h"

#include <cmath>

namespace weft {
namespace {

// Eight independent maxima: a single one would be a chain of dependent operations.
float largest(std::span<const float> values) {
  constexpr std::size_t kLanes = 8;
  std::array<float, kLanes> maxima;
  maxima.fill(values[0]);
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes)
    for (std::size_t k = 0; k < kLanes; ++k)
      maxima[k] = values[i + k] > maxima[k] ? values[i + k] : maxima[k];
  for (; i < values.size(); ++i) maxima[0] = std::max(maxima[0], values[i]);
  return *std::ranges::max_element(maxima);
}

}  // namespace

double log_sum_exp(std::span<const float> logits) {
  const float max = largest(logits);
  const float* x = logits.data();
  return static_cast<double>(max) + std::log(sum_of_terms(logits.size(), [=](std::size_t i) {
           return exp_of_negative(x[i] - max);
         }));
}

double precise_log_sum_exp(std::span<const float> logits) {
  const auto max = static_cast<double>(largest(logits));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - max);
  return max + std::log(sum);
}

}  // namespace weft
