#include "weft/measure/perplexity.h"

#include <algorithm>
#include <cmath>

#include "weft/sample/log_sum_exp.h"

namespace weft {
namespace {

template <class Values>
std::vector<double> sorted(const Values& values) {
  std::vector<double> all(values.begin(), values.end());
  std::ranges::sort(all);
  return all;
}

}  // namespace

double negative_log_likelihood(std::span<const float> logits, std::int32_t token) {
  return log_sum_exp(logits) - static_cast<double>(logits[static_cast<std::size_t>(token)]);
}

Estimate Mean::get() const {
  if (count_ < 1) return {};
  const auto n = static_cast<double>(count_);
  const double mean = sum_ / n, variance = squares_ / n - mean * mean;
  return {mean, count_ > 1 && variance > 0 ? std::sqrt(variance / (n - 1)) : 0};
}

Estimate perplexity(const Mean& nll) {
  const Estimate e = nll.get();
  const double value = std::exp(e.value);
  return {value, value * e.error};
}

Compared compare(std::span<const float> logits, const SavedRow& base, std::int32_t token) {
  constexpr float kMin = -16;  // smaller probabilities cannot be represented in 16 bits
  const std::size_t n = logits.size();
  const double total = log_sum_exp(logits);
  const auto norm = static_cast<float>(total);
  const float* x = logits.data();
  const std::uint16_t* steps = base.steps.data();
  const float scale = base.scale, minimum = base.minimum;
  Compared c;
  c.divergence = sum_of_terms(n, [=](std::size_t i) {
    const float log_base = scale * static_cast<float>(steps[i]) + minimum;
    const float bounded = log_base < 0 ? log_base : 0;
    const float term = exp_of_negative(bounded) * (log_base - (x[i] - norm));
    return log_base > kMin ? term : 0.0f;
  });
  // Corrects the rounding of the norm; the base's probabilities add up to 1.
  c.divergence += total - static_cast<double>(norm);
  const auto at = static_cast<std::size_t>(token);
  c.nll = total - static_cast<double>(logits[at]);
  c.base_nll = -base.log_probability(at);
  c.difference = std::exp(-c.nll) - std::exp(-c.base_nll);
  c.same_top = std::ranges::max_element(logits) - logits.begin() ==
               std::ranges::max_element(base.steps) - base.steps.begin();
  return c;
}

void Comparison::add(const Compared& c) {
  nll_.add(c.nll);
  base_.add(c.base_nll);
  divergence_.add(c.divergence);
  difference_.add(c.difference);
  squared_.add(c.difference * c.difference);
  products_ += c.nll * c.base_nll;
  same_ += c.same_top;
  divergences_.push_back(static_cast<float>(c.divergence));
  differences_.push_back(static_cast<float>(c.difference));
}

double Comparison::covariance() const {
  const auto n = static_cast<double>(count());
  if (count() < 2) return 0;
  return (products_ / n - nll_.get().value * base_.get().value) / (n - 1);
}

Estimate Comparison::log_ratio() const {
  const Estimate p = nll_.get(), b = base_.get();
  const double variance = p.error * p.error + b.error * b.error - 2 * covariance();
  return {p.value - b.value, variance > 0 ? std::sqrt(variance) : 0};
}

double Comparison::correlation() const {
  const double errors = nll_.get().error * base_.get().error;
  return errors > 0 ? covariance() / errors : 0;
}

Estimate Comparison::rms_difference() const {
  const Estimate e = squared_.get();
  const double rms = std::sqrt(e.value);
  return {rms, rms > 0 ? e.error / (2 * rms) : 0};
}

Estimate Comparison::same_top() const {
  if (count() < 1) return {};
  const auto n = static_cast<double>(count());
  const double share = static_cast<double>(same_) / n;
  return {share, count() > 1 ? std::sqrt(share * (1 - share) / (n - 1)) : 0};
}

std::vector<double> Comparison::sorted_divergences() const {
  return sorted(divergences_);
}
std::vector<double> Comparison::sorted_differences() const {
  return sorted(differences_);
}

double percentile(std::span<const double> sorted, double fraction) {
  const double at = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  return (1 - part) * sorted[below] + part * sorted[above];
}

}  // namespace weft
