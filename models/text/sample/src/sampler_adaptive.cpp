// Stages that watch what was chosen and steer the following choices: mirostat 1 and 2, adaptive-p.
// They come last in a chain: what they leave is what the draw is made from.

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/error.h"

#include "sampler_stages.h"

namespace weft::stages {
namespace {

// The surprise (in bits) of a chosen token moves the bound mu towards the target tau. Source: Basu
// et al. 2020, arXiv:2007.14966.
class Mirostat : public SamplerStage {
 public:
  Mirostat(double tau, double eta) : tau_(tau), eta_(eta), mu_(2 * tau) {
    if (tau < 0 || eta < 0) fail<ValueError>("mirostat: tau and eta must not be negative");
  }

  void accept(TokenId id) override {
    // Of a token that was not drawn from these candidates (the prompt) nothing is learnt.
    const auto chosen =
        std::find_if(shown_.begin(), shown_.end(), [id](const Candidate& c) { return c.id == id; });
    if (chosen != shown_.end() && chosen->p > 0)
      mu_ -= eta_ * (-std::log2(static_cast<double>(chosen->p)) - tau_);
    shown_.clear();
  }
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

// Estimates the exponent of Zipf's law from the m likeliest tokens, and keeps so many tokens that
// the expected surprise is mu.
class Mirostat1 final : public Mirostat {
 public:
  explicit Mirostat1(Parameters p) : Mirostat(p[0], p[1]), m_(count(p[2])) {}

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
  std::size_t m_;
};

// Keeps the tokens whose surprise is mu at most.
class Mirostat2 final : public Mirostat {
 public:
  explicit Mirostat2(Parameters p) : Mirostat(p[0], p[1]) {}

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

// Prefers tokens whose probability is near a target, which moves so that the probabilities of the
// chosen ones have the target as their weighted mean: each older one counts `decay` times as much.
// https://github.com/ggml-org/llama.cpp/pull/17927
class AdaptiveP final : public SamplerStage {
 public:
  explicit AdaptiveP(Parameters p) : target_(p[0]), decay_(std::clamp(p[1], 0.0, 0.99)) { reset(); }

  void reset() override {
    // As if all tokens before had been on target.
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
      // Near the goal like a bell, far from it like a line, so that nothing is ever equally bad.
      const double logit = kPeak - kSharpness * distance * distance / (1 + distance);
      if (std::isfinite(c.logit)) c.logit = static_cast<float>(logit);
    }
    candidates.sorted = false;
  }

 private:
  double target_, decay_;
  double sum_ = 0, weight_ = 0;
  std::vector<Candidate> shown_;
};

}  // namespace

Made mirostat1(Parameters p) {
  return std::make_unique<Mirostat1>(p);
}
Made mirostat2(Parameters p) {
  return std::make_unique<Mirostat2>(p);
}
Made adaptive_p(Parameters p) {
  return std::make_unique<AdaptiveP>(p);
}

}  // namespace weft::stages
