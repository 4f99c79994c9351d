#include "weft/sample/log_sum_exp.h"

#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "weft/sample/sampler.h"

#include "support/logits.h"

namespace weft {
namespace {

using test::exact_log_sum;
using test::normal_logits;

TEST_CASE("log-sums are right for every length and spread") {
  for (const std::size_t n : {1, 2, 3, 4, 5, 7, 255, 256, 257, 1000, 32000}) {
    for (const float spread : {0.0f, 0.1f, 3.0f, 30.0f, 1000.0f}) {
      const auto logits = normal_logits(n, static_cast<std::uint32_t>(n), spread);
      CAPTURE(n);
      CAPTURE(spread);
      const double want = exact_log_sum(logits);
      // Terms are off by the rounding of the differences, of size up to 87, and 2 ulp of their own;
      // the omitted terms are below n e^-87.
      CHECK(std::abs(log_sum_exp(logits) - want) <= (87 * 0x1p-24 + 0x1p-22));
      CHECK(log_sum_exp(logits) >= *std::ranges::max_element(logits));
    }
  }
  const std::vector<float> masked{0, -INFINITY, 0};
  CHECK(log_sum_exp(masked) == doctest::Approx(std::log(2.0)).epsilon(1e-12));
}

TEST_CASE("log-probabilities of answers are made of terms in double precision") {
  std::size_t n_wrong = 0;
  // Short ones: in long ones, the errors of terms in float average out.
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const auto logits = normal_logits(40, seed, 3);
    const double max = *std::ranges::max_element(logits);
    double sum = 0;
    for (const float v : logits) sum += std::exp(static_cast<double>(v) - max);
    const double total = max + std::log(sum);
    CHECK(precise_log_sum_exp(logits) == total);
    const auto wanted = [&](std::size_t id) { return static_cast<float>(logits[id] - total); };
    for (std::size_t id = 0; id < logits.size(); ++id)
      n_wrong += logprob(logits, static_cast<TokenId>(id)) != wanted(id) ? 1 : 0;
    for (const Likely& likely : most_likely(logits, 20))
      n_wrong += likely.logprob != wanted(static_cast<std::size_t>(likely.id)) ? 1 : 0;
  }
  CHECK(n_wrong == 0);
}

}  // namespace
}  // namespace weft
