// Stages that adapt to the tokens chosen so far: mirostat 1 and 2, adaptive-p.

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/error.h"
#include "weft/sample/stages.h"

#include "stage_checks.h"

namespace weft::stages {
namespace {

class MirostatStage : public SamplerStage {
 public:
  MirostatStage(double tau, double eta) : tau_(tau), eta_(eta), mu_(2 * tau) {
    check_finite("mirostat", {{"tau", tau}, {"eta", eta}});
    if (tau < 0 || eta < 0) fail<ValueError>("mirostat: tau and eta must not be negative");
  }

  void accept(TokenId id) override {
    // A token that was not drawn from these candidates (one of the prompt) is ignored.
    const auto chosen =
        std::find_if(shown_.begin(), shown_.end(), [id](const Candidate& c) { return c.id == id; });
    if (chosen != shown_.end() && chosen->p > 0)
      mu_ -= eta_ * (-std::log2(static_cast<double>(chosen->p)) - tau_);
    shown_.clear();
  }
  std::string_view name() const override { return "mirostat"; }
  void reset() override {
    mu_ = 2 * tau_;
    shown_.clear();
  }

 protected:
  void show(Candidates& candidates) {
    candidates.softmax();
    shown_.assign(candidates.items.begin(), candidates.items.end());
  }

  double tau_, eta_, mu_;

 private:
  std::vector<Candidate> shown_;
};

class Mirostat1Stage final : public MirostatStage {
 public:
  explicit Mirostat1Stage(const Mirostat1& p) : MirostatStage(p.tau, p.eta), m_(p.m) {}
  StagePtr clone() const override { return std::make_unique<Mirostat1Stage>(*this); }

  void apply(Candidates& candidates, Random&) override {
    candidates.sort();
    candidates.softmax();
    const std::vector<Candidate>& items = candidates.items;
    const auto n_vocab = static_cast<double>(items.size());
    double tb = 0, tt = 0;
    for (std::size_t i = 0; i + 1 < std::min(m_, items.size()); ++i) {
      if (!(items[i + 1].p > 0)) break;
      const double t = std::log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
      tb += t * std::log(static_cast<double>(items[i].p) / static_cast<double>(items[i + 1].p));
      tt += t * t;
    }
    if (tt > 0) {
      const double s = tb / tt, epsilon = s - 1;
      const double k =
          std::pow(epsilon * std::pow(2.0, mu_) / (1 - std::pow(n_vocab, -epsilon)), 1 / s);
      if (std::isfinite(k)) candidates.keep(static_cast<std::size_t>(std::clamp(k, 1.0, n_vocab)));
    }
    show(candidates);
  }

 private:
  const std::size_t m_;
};

class Mirostat2Stage final : public MirostatStage {
 public:
  explicit Mirostat2Stage(const Mirostat2& p) : MirostatStage(p.tau, p.eta) {}
  StagePtr clone() const override { return std::make_unique<Mirostat2Stage>(*this); }

  void apply(Candidates& candidates, Random&) override {
    candidates.sort();
    candidates.softmax();
    const std::vector<Candidate>& items = candidates.items;
    std::size_t n = 0;
    while (n < items.size() && items[n].p > 0 && -std::log2(static_cast<double>(items[n].p)) <= mu_)
      ++n;
    candidates.keep(n);
    show(candidates);
  }
};

class AdaptivePStage final : public StageOf<AdaptivePStage> {
 public:
  explicit AdaptivePStage(const AdaptiveP& p)
      : target_(p.target), decay_(std::clamp(p.decay, 0.0, 0.99)) {
    check_finite(name(), {{"target", p.target}, {"decay", p.decay}});
    reset();
  }
  std::string_view name() const override { return "adaptive_p"; }

  void reset() override {
    // As if all earlier tokens had been on target.
    weight_ = 1 / (1 - decay_);
    sum_ = std::max(0.0, target_) * weight_;
    shown_.clear();
  }

  void accept(TokenId id) override {
    const auto chosen =
        std::find_if(shown_.begin(), shown_.end(), [id](const Candidate& c) { return c.id == id; });
    if (chosen != shown_.end()) {
      sum_ = static_cast<double>(chosen->p) + decay_ * sum_;
      weight_ = 1 + decay_ * weight_;
    }
    shown_.clear();
  }

  void apply(Candidates& candidates, Random&) override {
    if (target_ < 0) return;
    constexpr double kPeak = 5, kWidth = 0.3, kSharpness = 10;
    candidates.softmax();
    shown_.assign(candidates.items.begin(), candidates.items.end());
    const double goal = std::clamp(2 * target_ - sum_ / weight_, 0.0, 1.0);
    for (Candidate& c : candidates.items) {
      const double distance = std::abs(static_cast<double>(c.p) - goal) / kWidth;
      // Bell-shaped near the goal, linear far from it: distant candidates still differ.
      const double logit = kPeak - kSharpness * distance * distance / (1 + distance);
      if (std::isfinite(c.logit)) c.logit = static_cast<float>(logit);
    }
    candidates.sorted = false;
  }

 private:
  const double target_, decay_;
  double sum_ = 0, weight_ = 0;
  std::vector<Candidate> shown_;
};

}  // namespace

StagePtr make(const Mirostat1& p) {
  return std::make_unique<Mirostat1Stage>(p);
}
StagePtr make(const Mirostat2& p) {
  return std::make_unique<Mirostat2Stage>(p);
}
StagePtr make(const AdaptiveP& p) {
  return std::make_unique<AdaptivePStage>(p);
}

}  // namespace weft::stages
