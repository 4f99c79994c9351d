#include "pacing/prompt_pacing.h"

#include <algorithm>
#include <numeric>

namespace weft::serve {
namespace {

// Without texts that wait for it, a step may take so long, or have so many tokens: a wider one is
// hardly more efficient, and requests that arrive meanwhile wait for it.
constexpr double kLongStep = 0.5;
constexpr std::int64_t kEnoughTokens = 64;
// How long texts may wait for prompts at once, if their own steps are shorter. Wide steps cost less
// per token.
constexpr double kPause = 0.1;
// The weight of a new measurement.
constexpr double kNew = 0.25;

}  // namespace

PromptPacing::PromptPacing(const std::vector<Width>& widths, std::int64_t max_beside)
    : max_beside_(max_beside) {
  for (const Width& w : widths) {
    bounds_.push_back(w.tokens);
    points_.push_back({static_cast<double>(w.tokens), w.seconds, false});
  }
}

// Linear between the points, and beyond the last two.
double PromptPacing::seconds_of(std::int64_t n_tokens) const {
  const auto n = static_cast<double>(n_tokens);
  const Point& first = points_.front();
  if (n <= first.tokens || points_.size() == 1)
    return first.seconds * std::max(1.0, n / first.tokens);
  std::size_t i = 1;
  while (i + 1 < points_.size() && points_[i].tokens < n) ++i;
  const Point &a = points_[i - 1], &b = points_[i];
  const double slope = std::max(0.0, (b.seconds - a.seconds) / (b.tokens - a.tokens));
  return a.seconds + slope * (n - a.tokens);
}

std::int64_t PromptPacing::tokens_within(double seconds, std::int64_t n_texts,
                                         std::int64_t max) const {
  std::int64_t low = 0, high = std::max<std::int64_t>(0, max);
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (seconds_of(n_texts + middle) <= seconds)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

std::int64_t PromptPacing::prompt_tokens(std::int64_t n_texts, std::int64_t n_pending) const {
  const std::int64_t widest = bounds_.back() - n_texts;
  if (n_texts == 0)
    return std::max(tokens_within(kLongStep, 0, widest), std::min(kEnoughTokens, widest));
  std::int64_t max = std::min(widest, n_pending);
  if (max_beside_ > 0) max = std::min(max, max_beside_);
  if (max < 1) return 0;
  const double alone = seconds_of(n_texts), longest = pause(n_texts);
  const std::int64_t n = std::max<std::int64_t>(1, tokens_within(alone + longest, n_texts, max));
  const double needed = std::min(longest, seconds_of(n_texts + n) - alone);
  return credit_ >= needed ? n : 0;
}

void PromptPacing::measured(std::int64_t n_texts, std::int64_t n_prompt_tokens, double seconds) {
  const double alone = n_prompt_tokens > 0 ? seconds_of(n_texts) : seconds;
  learn(n_texts + n_prompt_tokens, seconds);
  if (n_texts == 0) return;
  // Time that is not used, because there are no prompts, is only saved up for one step.
  credit_ = std::min(credit_ + alone - (seconds - alone), pause(n_texts));
  credit_ = std::max(credit_, -kLongStep);
}

double PromptPacing::pause(std::int64_t n_texts) const {
  return std::max(seconds_of(n_texts), kPause);
}

void PromptPacing::learn(std::int64_t n_tokens, double seconds) {
  const auto at = std::ranges::lower_bound(bounds_, n_tokens) - bounds_.begin();
  Point& point = points_[std::min(static_cast<std::size_t>(at), points_.size() - 1)];
  if (!point.is_measured) {
    // The other predictions are probably wrong by the same factor.
    const double factor = seconds / std::max(seconds_of(n_tokens), 1e-9);
    for (Point& other : points_)
      if (!other.is_measured) other.seconds *= factor;
    point = {static_cast<double>(n_tokens), seconds, true};
    return;
  }
  point.tokens += kNew * (static_cast<double>(n_tokens) - point.tokens);
  point.seconds += kNew * (seconds - point.seconds);
}

std::vector<std::int64_t> divide_among_prompts(std::int64_t n_tokens,
                                               std::span<const std::int64_t> pending) {
  std::vector<std::int64_t> shares(pending.size());
  if (pending.empty()) return shares;
  shares[0] = std::min(pending[0], (n_tokens + 1) / 2);
  std::int64_t left = n_tokens - shares[0];
  std::vector<std::size_t> order(pending.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return pending[i]; });
  for (const std::size_t i : order) {
    const std::int64_t more = std::min(left, pending[i] - shares[i]);
    shares[i] += more;
    left -= more;
  }
  return shares;
}

}  // namespace weft::serve
