// Stages that change logits.

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/error.h"

#include "sampler_stages.h"

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

// A finite logit stays finite, whatever is done to it.
void store(Candidate& c, double logit) {
  constexpr double kMax = std::numeric_limits<float>::max();
  c.logit = std::isfinite(c.logit) ? static_cast<float>(std::clamp(logit, -kMax, kMax)) : c.logit;
}

// Below this a temperature leaves nothing of any candidate but the best.
constexpr double kLeastTemperature = 1e-6;

void divide(Candidates& candidates, double t) {
  if (t < kLeastTemperature) return keep_best(candidates);
  for (Candidate& c : candidates.items) store(c, c.logit / t);
}

// logit / t; for t <= 0 (and up to 1e-6) only the highest logit stays.
class Temperature final : public SamplerStage {
 public:
  explicit Temperature(double t) : t_(t) {}
  void apply(Candidates& candidates, Random&) override { divide(candidates, t_); }

 private:
  double t_;
};

// A temperature within t +- delta that grows with the entropy of the distribution, relative to that
// of an even one.
class DynamicTemperature final : public SamplerStage {
 public:
  explicit DynamicTemperature(Parameters p) : t_(p[0]), delta_(p[1]), exponent_(p[2]) {}

  void apply(Candidates& candidates, Random&) override {
    if (delta_ <= 0) return divide(candidates, t_);
    if (candidates.items.size() < 2) return;
    candidates.softmax();
    double entropy = 0;
    for (const Candidate& c : candidates.items) {
      if (c.p > 0) entropy -= static_cast<double>(c.p) * std::log(static_cast<double>(c.p));
    }
    const double low = std::max(0.0, t_ - delta_);
    const double relative =
        std::clamp(entropy / std::log(static_cast<double>(candidates.items.size())), 0.0, 1.0);
    divide(candidates, low + (t_ + delta_ - low) * std::pow(relative, exponent_));
  }

 private:
  double t_;
  double delta_;
  double exponent_;
};

// For tokens among the last n: a positive logit is divided by `repeat`, another multiplied; then
// logit -= count * frequency + presence. Source: Keskar et al. 2019, arXiv:1909.05858, for the
// first.
class Penalties final : public SamplerStage {
 public:
  explicit Penalties(Parameters p)
      : last_n_(p[0] > 0 ? count(p[0]) : 0), repeat_(p[1]), frequency_(p[2]), presence_(p[3]) {
    recent_.reserve(std::min<std::size_t>(last_n_, 4096));
    sorted_.reserve(recent_.capacity());
    if (!(repeat_ > 0)) fail<ValueError>("the repetition penalty must be above 0, got {}", p[1]);
  }

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
    const double repeated = c.logit > 0 ? c.logit / repeat_ : c.logit * repeat_;
    store(c, repeated - (n_times * frequency_ + presence_));
  }

  std::size_t last_n_;
  double repeat_;
  double frequency_;
  double presence_;
  std::vector<TokenId> recent_;  // a ring once it is full
  std::size_t oldest_ = 0;
  std::vector<TokenId> sorted_;
};

class LogitBias final : public SamplerStage {
 public:
  explicit LogitBias(Parameters p) {
    for (std::size_t i = 0; i + 1 < p.size(); i += 2)
      biases_.push_back({static_cast<TokenId>(count(p[i])), p[i + 1]});
  }

  void apply(Candidates& candidates, Random&) override {
    for (const Bias& bias : biases_) {
      Candidate* c = candidates.find(bias.id);
      if (c == nullptr) continue;
      if (std::isinf(bias.value)) {
        c->logit = -std::numeric_limits<float>::infinity();
      } else {
        store(*c, c->logit + bias.value);
      }
    }
    if (!biases_.empty()) candidates.sorted = false;
    if (std::none_of(candidates.items.begin(), candidates.items.end(), [](const Candidate& c) {
          return c.logit > -std::numeric_limits<float>::infinity();
        })) {
      fail<ValueError>("no token can be chosen: the logit biases forbid all");
    }
  }

 private:
  struct Bias {
    TokenId id;
    double value;
  };
  std::vector<Bias> biases_;
};

}  // namespace

Made temperature(Parameters p) {
  return std::make_unique<Temperature>(p[0]);
}
Made dynamic_temperature(Parameters p) {
  return std::make_unique<DynamicTemperature>(p);
}
Made penalties(Parameters p) {
  return std::make_unique<Penalties>(p);
}
Made logit_bias(Parameters p) {
  return std::make_unique<LogitBias>(p);
}

}  // namespace weft::stages
