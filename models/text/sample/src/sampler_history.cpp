// DRY: penalizes tokens that would continue a repetition of earlier text.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "weft/sample/stages.h"

#include "stage_checks.h"

namespace weft::stages {
namespace {

class DryStage final : public StageOf<DryStage> {
 public:
  explicit DryStage(const Dry& p)
      : p_(p),
        allowed_(static_cast<std::size_t>(std::max(0, p.allowed_length))),
        last_n_(p.last_n < 0 ? kAll : static_cast<std::size_t>(p.last_n)) {
    check_finite(name(), {{"multiplier", p.multiplier}, {"base", p.base}});
    for (const TokenId id : p.breakers) check_token(name(), id);
  }
  std::string_view name() const override { return "dry"; }

  void accept(TokenId id) override {
    if (p_.multiplier == 0 || last_n_ == 0) return;
    history_.push_back(id);
    // The window is truncated only after it has doubled, so that each token is moved once.
    if (last_n_ != kAll && history_.size() > 2 * last_n_ + 64)
      history_.erase(history_.begin(), history_.end() - static_cast<std::ptrdiff_t>(last_n_));
  }
  void reset() override { history_.clear(); }

  void apply(Candidates& candidates, Random&) override {
    if (p_.multiplier == 0 || p_.base < 1) return;
    const std::size_t n = std::min(last_n_, history_.size());
    if (n <= allowed_) return;
    // In reverse: latest_[0] is the last token.
    latest_.assign(history_.rbegin(), history_.rbegin() + static_cast<std::ptrdiff_t>(n));
    std::size_t reach = n;  // repetitions are shorter than the distance to the last breaker
    for (std::size_t i = 0; i < n && reach == n; ++i)
      if (breaks(latest_[i])) reach = i;
    if (reach < allowed_) return;
    find_repetitions(n, reach);
    for (const auto& [id, length] : longest_) {
      Candidate* c = candidates.find(id);
      if (c == nullptr || !std::isfinite(c->logit)) continue;
      // Saturates at the largest float.
      const double exponent = static_cast<double>(length - allowed_);
      const double penalty = std::min(p_.multiplier * std::pow(p_.base, exponent),
                                      double{std::numeric_limits<float>::max()});
      c->logit = static_cast<float>(
          std::max(c->logit - penalty, -double{std::numeric_limits<float>::max()}));
      candidates.sorted = false;
    }
  }

 private:
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  bool breaks(TokenId id) const {
    return std::find(p_.breakers.begin(), p_.breakers.end(), id) != p_.breakers.end();
  }

  // matched_[i]: how many of the latest tokens also precede position i (the Z function of the
  // reversed text, in linear time).
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

  const Dry p_;
  const std::size_t allowed_, last_n_;
  std::vector<TokenId> history_, latest_;
  std::vector<std::size_t> matched_;
  std::map<TokenId, std::size_t> longest_;
};

}  // namespace

StagePtr make(const Dry& p) {
  return std::make_unique<DryStage>(p);
}

}  // namespace weft::stages
