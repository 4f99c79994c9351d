#include "weft/measure/perplexity.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "weft/sample/log_sum_exp.h"

#include "support/logits.h"

namespace weft {
namespace {

using test::exact_log_sum;
using test::normal_logits;

// Steps of the probabilities of `logits`, so fine that 16 bits do not show.
struct Base {
  std::vector<std::uint16_t> steps;
  SavedRow row;
  explicit Base(std::span<const float> logits) {
    const auto [least, most] = std::ranges::minmax(logits);
    row.scale = (most - least) / 65535;
    row.minimum = least - static_cast<float>(exact_log_sum(logits));
    for (const float v : logits)
      steps.push_back(static_cast<std::uint16_t>(std::lround((v - least) / row.scale)));
    row.steps = steps;
  }
};

TEST_CASE("likelihoods are those of the log-sum") {
  const auto logits = normal_logits(1000, 7);
  CHECK(negative_log_likelihood(logits, 3) == log_sum_exp(logits) - static_cast<double>(logits[3]));
}

TEST_CASE("means come with the error of the mean") {
  Mean m;
  CHECK(m.get().error == 0);
  m.add(3);
  CHECK(m.get().value == 3);
  CHECK(m.get().error == 0);
  m.add(5);
  m.add(4);
  m.add(8);
  // Mean 5, squared deviations 4, 0, 1, 9: their mean 3.5, over n - 1.
  CHECK(m.get().value == 5);
  CHECK(m.get().error == doctest::Approx(std::sqrt(3.5 / 3)));
  CHECK(perplexity(m).value == doctest::Approx(std::exp(5.0)));
  CHECK(perplexity(m).error == doctest::Approx(std::exp(5.0) * std::sqrt(3.5 / 3)));
}

TEST_CASE("divergence agrees with its definition") {
  for (const std::size_t n : {3, 50, 256, 1001}) {
    const auto a = normal_logits(n, 1, 2), b = normal_logits(n, 2, 2);
    const Base base(b);
    const double norm_a = exact_log_sum(a);
    double want = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double log_base = base.row.log_probability(i);
      want += std::exp(log_base) * (log_base - (a[i] - norm_a));
    }
    const Compared c = compare(a, base.row, 1);
    CHECK(c.divergence == doctest::Approx(want).epsilon(1e-5));
    CHECK(c.divergence > 0);
    CHECK(c.nll == doctest::Approx(norm_a - a[1]));
    CHECK(c.base_nll == doctest::Approx(exact_log_sum(b) - b[1]).epsilon(1e-3));
    CHECK(c.difference == doctest::Approx(std::exp(-c.nll) - std::exp(-c.base_nll)));
    const auto top = [](const auto& v) { return std::ranges::max_element(v) - v.begin(); };
    CHECK(c.same_top == (top(a) == top(b)));
  }
}

TEST_CASE("a model does not diverge from itself") {
  const auto logits = normal_logits(5000, 3, 2);
  const Base base(logits);
  const Compared c = compare(logits, base.row, 17);
  // Steps are half a step off at most, which enters squared. Four numbers below 32 are rounded: the
  // minimum, the product with the scale, their sum, the logit less the norm.
  const double half = static_cast<double>(base.row.scale) / 2;
  CHECK(std::abs(c.divergence) <= half * half + 4 * 32 * 0x1p-24);
  CHECK(c.same_top);
  CHECK(std::abs(c.difference) <= half);
}

TEST_CASE("figures of two models over several tokens") {
  Comparison all;
  const Compared values[] = {
      {1, 2, 0.5, 0.25, true}, {3, 3, 0.1, -0.5, false}, {2, 4, 0.3, 0.1, true}};
  for (const Compared& c : values) all.add(c);
  CHECK(all.count() == 3);
  CHECK(all.perplexity().value == doctest::Approx(std::exp(2.0)));
  CHECK(all.base_perplexity().value == doctest::Approx(std::exp(3.0)));
  CHECK(all.log_ratio().value == doctest::Approx(-1));
  // The differences -1, 0, -2: variance 2/3, over n - 1.
  CHECK(all.log_ratio().error == doctest::Approx(std::sqrt(2.0 / 3 / 2)));
  CHECK(all.correlation() == doctest::Approx(1.0 / 2));
  CHECK(all.divergence().value == doctest::Approx(0.3));
  CHECK(all.difference().value == doctest::Approx(-0.05));
  CHECK(all.rms_difference().value == doctest::Approx(std::sqrt((0.0625 + 0.25 + 0.01) / 3)));
  CHECK(all.same_top().value == doctest::Approx(2.0 / 3));
  CHECK(all.same_top().error == doctest::Approx(std::sqrt(2.0 / 9 / 2)));
  CHECK(percentile(all.sorted_divergences(), 0.5) == doctest::Approx(0.3));
  CHECK(percentile(all.sorted_divergences(), 0.75) == doctest::Approx(0.4));
  CHECK(percentile(all.sorted_differences(), 0) == doctest::Approx(-0.5));
  CHECK(percentile(all.sorted_differences(), 1) == doctest::Approx(0.25));
}

}  // namespace
}  // namespace weft
