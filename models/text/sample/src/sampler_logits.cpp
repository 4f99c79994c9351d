// Stages that change logits.

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/error.h"
#include "weft/sample/stages.h"

#include "stage_checks.h"

namespace weft::stages {
namespace {

void keep_best(Candidates& candidates) {
  const auto best = std::min_element(candidates.items.begin(), candidates.items.end(),
                                     [](const Candidate& a, const Candidate& b) {
                                       return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
                                     });
  candidates.items.front() = *best;
  candidates.keep(1);
}

// Stores a logit; finite logits stay finite.
void store(Candidate& c, double logit) {
  constexpr double kMax = std::numeric_limits<float>::max();
  c.logit = std::isfinite(c.logit) ? static_cast<float>(std::clamp(logit, -kMax, kMax)) : c.logit;
}

// Below this temperature only the best candidate has a nonzero probability.
constexpr double kMinTemperature = 1e-6;

void divide(Candidates& candidates, double t) {
  if (t < kMinTemperature) return keep_best(candidates);
  for (Candidate& c : candidates.items) store(c, c.logit / t);
}

class TemperatureStage final : public StageOf<TemperatureStage> {
 public:
  explicit TemperatureStage(const Temperature& p) : p_(p) { check_finite(name(), {{"t", p.t}}); }
  std::string_view name() const override { return "temperature"; }
  void apply(Candidates& candidates, Random&) override { divide(candidates, p_.t); }
  bool keeps_likeliest() const override { return p_.t < kMinTemperature; }

 private:
  const Temperature p_;
};

class DynamicTemperatureStage final : public StageOf<DynamicTemperatureStage> {
 public:
  explicit DynamicTemperatureStage(const DynamicTemperature& p) : p_(p) {
    check_finite(name(), {{"t", p.t}, {"delta", p.delta}, {"exponent", p.exponent}});
  }
  std::string_view name() const override { return "temperature"; }

  void apply(Candidates& candidates, Random&) override {
    if (p_.delta <= 0) return divide(candidates, p_.t);
    if (candidates.items.size() < 2) return;
    candidates.softmax();
    double entropy = 0;
    for (const Candidate& c : candidates.items) {
      if (c.p > 0) entropy -= static_cast<double>(c.p) * std::log(static_cast<double>(c.p));
    }
    const double low = std::max(0.0, p_.t - p_.delta);
    const double relative =
        std::clamp(entropy / std::log(static_cast<double>(candidates.items.size())), 0.0, 1.0);
    divide(candidates, low + (p_.t + p_.delta - low) * std::pow(relative, p_.exponent));
  }
  bool keeps_likeliest() const override { return p_.delta <= 0 && p_.t < kMinTemperature; }

 private:
  const DynamicTemperature p_;
};

class PenaltiesStage final : public StageOf<PenaltiesStage> {
 public:
  explicit PenaltiesStage(const Penalties& p)
      : p_(p), last_n_(static_cast<std::size_t>(std::max(0, p.last_n))) {
    check_finite(name(),
                 {{"repeat", p.repeat}, {"frequency", p.frequency}, {"presence", p.presence}});
    if (!(p.repeat > 0))
      fail<ValueError>("the repetition penalty must be above 0, got {}", p.repeat);
    recent_.reserve(std::min<std::size_t>(last_n_, 4096));
    sorted_.reserve(recent_.capacity());
  }
  // A copy has as much room.
  PenaltiesStage(const PenaltiesStage& from) : PenaltiesStage(from.p_) {
    recent_ = from.recent_;
    oldest_ = from.oldest_;
  }
  std::string_view name() const override { return "penalties"; }

  void accept(TokenId id) override {
    if (last_n_ == 0 || id < 0) return;
    if (recent_.size() < last_n_) {
      recent_.push_back(id);
    } else {
      recent_[oldest_] = id;
      oldest_ = (oldest_ + 1) % last_n_;
    }
  }

  void reset() override {
    recent_.clear();
    oldest_ = 0;
  }

  void apply(Candidates& candidates, Random&) override {
    // `sorted_` keeps its memory; equal ids become neighbours.
    sorted_.assign(recent_.begin(), recent_.end());
    std::sort(sorted_.begin(), sorted_.end());
    for (std::size_t i = 0; i < sorted_.size();) {
      const auto end = static_cast<std::size_t>(
          std::upper_bound(sorted_.begin(), sorted_.end(), sorted_[i]) - sorted_.begin());
      if (Candidate* c = candidates.find(sorted_[i])) penalize(*c, static_cast<double>(end - i));
      i = end;
    }
    if (!sorted_.empty()) candidates.sorted = false;
  }

 private:
  void penalize(Candidate& c, double n_times) const {
    const double repeated = c.logit > 0 ? c.logit / p_.repeat : c.logit * p_.repeat;
    store(c, repeated - (n_times * p_.frequency + p_.presence));
  }

  const Penalties p_;
  const std::size_t last_n_;
  std::vector<TokenId> recent_;  // a ring buffer once it is full
  std::size_t oldest_ = 0;
  std::vector<TokenId> sorted_;
};

class LogitBiasStage final : public StageOf<LogitBiasStage> {
 public:
  explicit LogitBiasStage(const LogitBias& p) : p_(p) {
    for (const auto& [id, bias] : p.biases) {
      check_token(name(), id);
      if (bias != -std::numeric_limits<double>::infinity()) check_finite(name(), {{"bias", bias}});
    }
  }
  std::string_view name() const override { return "logit_bias"; }

  void apply(Candidates& candidates, Random&) override {
    for (const auto& [id, bias] : p_.biases) {
      Candidate* c = candidates.find(id);
      if (c == nullptr) continue;
      if (std::isinf(bias)) {
        c->logit = -std::numeric_limits<float>::infinity();
      } else {
        store(*c, c->logit + bias);
      }
    }
    if (!p_.biases.empty()) candidates.sorted = false;
    if (std::none_of(candidates.items.begin(), candidates.items.end(), [](const Candidate& c) {
          return c.logit > -std::numeric_limits<float>::infinity();
        })) {
      fail<ValueError>("no token can be chosen: the logit biases forbid all of them");
    }
  }

 private:
  const LogitBias p_;
};

}  // namespace

StagePtr make(const LogitBias& p) {
  return std::make_unique<LogitBiasStage>(p);
}
StagePtr make(const Penalties& p) {
  return std::make_unique<PenaltiesStage>(p);
}
StagePtr make(const Temperature& p) {
  return std::make_unique<TemperatureStage>(p);
}
StagePtr make(const DynamicTemperature& p) {
  return std::make_unique<DynamicTemperatureStage>(p);
}

}  // namespace weft::stages
