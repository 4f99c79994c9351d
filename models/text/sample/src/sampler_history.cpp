// DRY: tokens that would continue a repetition of what was already written.
// https://github.com/oobabooga/text-generation-webui/pull/5677

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sampler_stages.h"

namespace weft::stages {
namespace {

// For every place where the latest tokens, n of them, were written before: the token that followed
// there loses multiplier * base^(n - allowed_length), for the longest such n. Repetitions do not
// reach across breakers.
class Dry final : public SamplerStage {
 public:
  explicit Dry(Parameters p)
      : multiplier_(p[0]),
        base_(p[1]),
        allowed_(count(std::max(0.0, p[2]))),
        last_n_(p[3] < 0 ? kAll : count(p[3])) {
    for (const double id : p.subspan(4)) breakers_.push_back(static_cast<TokenId>(count(id)));
  }

  void accept(TokenId id) override {
    if (multiplier_ == 0 || last_n_ == 0) return;
    history_.push_back(id);
    // Twice the window and more: the older half goes at once, so that each token moves once.
    if (last_n_ != kAll && history_.size() > 2 * last_n_ + 64)
      history_.erase(history_.begin(), history_.end() - static_cast<std::ptrdiff_t>(last_n_));
  }
  void reset() override { history_.clear(); }

  void apply(Candidates& candidates, Random&) override {
    if (multiplier_ == 0 || base_ < 1) return;
    const std::size_t n = std::min(last_n_, history_.size());
    if (n <= allowed_) return;
    // Backwards: latest_[0] is the last token.
    latest_.assign(history_.rbegin(), history_.rbegin() + static_cast<std::ptrdiff_t>(n));
    std::size_t reach = n;  // repetitions are shorter than the way back to a breaker
    for (std::size_t i = 0; i < n && reach == n; ++i)
      if (breaks(latest_[i])) reach = i;
    if (reach < allowed_) return;
    find_repetitions(n, reach);
    for (const auto& [id, length] : longest_) {
      Candidate* c = candidates.find(id);
      if (c == nullptr || !std::isfinite(c->logit)) continue;
      // Where base^x would be no float any more, it is the largest one.
      const double exponent = static_cast<double>(length - allowed_);
      const double penalty = std::min(multiplier_ * std::pow(base_, exponent),
                                      double{std::numeric_limits<float>::max()});
      c->logit = static_cast<float>(
          std::max(c->logit - penalty, -double{std::numeric_limits<float>::max()}));
      candidates.sorted = false;
    }
  }

 private:
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  bool breaks(TokenId id) const {
    return std::find(breakers_.begin(), breakers_.end(), id) != breakers_.end();
  }

  // matched_[i]: how many of the latest tokens stand also before place i (the Z function of the
  // reversed text, linear in its length).
  void find_repetitions(std::size_t n, std::size_t reach) {
    matched_.assign(n, 0);
    longest_.clear();
    std::size_t left = 0, right = 0;
    for (std::size_t i = 1; i < n; ++i) {
      std::size_t length = i < right ? std::min(right - i, matched_[i - left]) : 0;
      while (i + length < n && latest_[length] == latest_[i + length]) ++length;
      if (i + length > right) left = i, right = i + length;
      matched_[i] = length;
      const std::size_t counted = std::min(length, reach);
      if (counted < allowed_ || counted == 0) continue;
      const TokenId follows = latest_[i - 1];
      if (breaks(follows)) continue;
      std::size_t& best = longest_[follows];
      best = std::max(best, counted);
    }
  }

  double multiplier_, base_;
  std::size_t allowed_, last_n_;
  std::vector<TokenId> breakers_;
  std::vector<TokenId> history_, latest_;
  std::vector<std::size_t> matched_;
  std::map<TokenId, std::size_t> longest_;
};

}  // namespace

Made dry(Parameters p) {
  return std::make_unique<Dry>(p);
}

}  // namespace weft::stages
