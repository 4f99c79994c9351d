#pragma once
// The logarithm of the sum of exponentials: subtract it from a logit for the logarithm of its
// probability. Two functions, because their users need different things: perplexities read whole
// files, answers show single numbers. Each has its order of summation, so that its bits stay.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

// ln(sum_i exp(logits[i])), at least the largest logit. REQUIRES: at least one logit is above -inf,
// none is NaN.
//
// The fast one is for perplexities and beams: within 1e-5, with terms in float. Plain
// arithmetic, whose only library function is one log() at the end.
double log_sum_exp(std::span<const float> logits);
// The precise one is for the log-probabilities of answers, logprob() and most_likely(), and for the
// order in which diffusion fills in tokens: its terms are double, by the library's exp().
double precise_log_sum_exp(std::span<const float> logits);

// e^x for x <= 0, to 2 ulp; 0 below -87. Plain arithmetic without calls, so that compilers can
// vectorize a loop over it: x = n ln 2 + r, |r| <= ln 2 / 2, e^x = 2^n e^r, and e^r by its series.
inline float exp_of_negative(float x) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: added, it rounds to a whole number
  constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;
  const float clamped = x < -87.0f ? -87.0f : x;
  const float shifted = clamped * 0x1.715476p+0f + kMagic;
  const float n = shifted - kMagic;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;
  float e = 1.0f / 5040;
  e = e * r + 1.0f / 720;
  e = e * r + 1.0f / 120;
  e = e * r + 1.0f / 24;
  e = e * r + 1.0f / 6;
  e = e * r + 0.5f;
  e = e * r + 1.0f;
  e = e * r + 1.0f;
  const float power = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23) +
                                           (std::uint32_t{127} << 23));
  return x < -87.0f ? 0.0f : e * power;
}

// sum_i f(i), in blocks whose terms are computed first and then added: the first loop vectorizes,
// the second one has a fixed order.
template <class Term>
double sum_of_terms(std::size_t n, Term term) {
  constexpr std::size_t kBlock = 256, kSums = 4;
  std::array<float, kBlock> terms;
  std::array<double, kSums> sums{};
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t count = std::min(kBlock, n - begin);
    for (std::size_t i = 0; i < count; ++i) terms[i] = term(begin + i);
    for (std::size_t i = count; i < (count + kSums - 1) / kSums * kSums; ++i) terms[i] = 0;
    for (std::size_t i = 0; i < count; i += kSums)
      for (std::size_t k = 0; k < kSums; ++k) sums[k] += static_cast<double>(terms[i + k]);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace weft
