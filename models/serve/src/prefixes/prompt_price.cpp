#include "prefixes/prompt_price.h"

#include <algorithm>

namespace weft::serve {
namespace {

// How much of the older steps' weight a step leaves.
constexpr double kMemory = 0.995;

}  // namespace

void PromptPrice::measured(std::int64_t n_tokens, double depth, double seconds) {
  for (double* sum : {&n_, &nd_, &ndd_, &s_, &sd_}) *sum *= kMemory;
  const auto n = static_cast<double>(n_tokens);
  n_ += n, nd_ += n * depth, ndd_ += n * depth * depth;
  s_ += seconds, sd_ += seconds * depth;
}

// Least squares of seconds = tokens x (a + b x depth), with a, b >= 0.
double PromptPrice::relative(double depth) const {
  const double det = n_ * ndd_ - nd_ * nd_;
  if (det <= 1e-9 * n_ * ndd_) return 1;
  const double a = (s_ * ndd_ - sd_ * nd_) / det, b = (n_ * sd_ - nd_ * s_) / det;
  return a <= 0 || b <= 0 ? 1 : 1 + b * depth / a;
}

double PromptPrice::seconds(double depth) const {
  if (n_ <= 0) return 0;
  return s_ / n_ * relative(depth) / relative(nd_ / n_);
}

}  // namespace weft::serve
