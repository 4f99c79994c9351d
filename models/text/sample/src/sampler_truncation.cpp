// Stages that remove candidates. `min_keep` candidates, the most likely ones, stay in any case.

#include <algorithm>
#include <cmath>
#include <limits>

#include "sampler_stages.h"

namespace weft::stages {
namespace {

bool before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

void keep_top(Candidates& candidates, std::size_t k) {
  std::vector<Candidate>& items = candidates.items;
  if (k >= items.size()) return;
  if (!candidates.sorted) {
    std::partial_sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(k), items.end(),
                      before);
  }
  candidates.keep(k);
  candidates.sorted = true;
}

class TopK final : public SamplerStage {
 public:
  explicit TopK(Parameters p) : k_(p[0] > 0 ? count(p[0]) : 0) {}
  void apply(Candidates& candidates, Random&) override {
    if (k_ > 0) keep_top(candidates, k_);
  }

 private:
  std::size_t k_;
};

// The fewest most likely candidates that together have probability p. Source: Holtzman et al. 2019,
// arXiv:1904.09751.
class TopP final : public SamplerStage {
 public:
  explicit TopP(Parameters p) : p_(p[0]), min_keep_(count(p[1])) {}

  void apply(Candidates& candidates, Random&) override {
    if (p_ >= 1) return;
    candidates.sort();
    candidates.softmax();
    double sum = 0;
    std::size_t n = 0;
    while (n < candidates.items.size()) {
      sum += candidates.items[n++].p;
      if (sum >= p_ && n >= min_keep_) break;
    }
    candidates.keep(n);
  }

 private:
  double p_;
  std::size_t min_keep_;
};

// Keeps logits of at least `floor`, and `min_keep` candidates whatever their logits.
void keep_from(Candidates& candidates, double floor, std::size_t min_keep) {
  std::vector<Candidate>& items = candidates.items;
  const auto stays = [floor](const Candidate& c) { return c.logit >= floor; };
  const auto n = static_cast<std::size_t>(std::count_if(items.begin(), items.end(), stays));
  if (n < min_keep) return keep_top(candidates, min_keep);
  items.erase(
      std::remove_if(items.begin(), items.end(), [&](const Candidate& c) { return !stays(c); }),
      items.end());
}

float highest(const Candidates& candidates) {
  float max = -std::numeric_limits<float>::infinity();
  for (const Candidate& c : candidates.items) max = std::max(max, c.logit);
  return max;
}

// Candidates at least p times as likely as the most likely one. Source: Nguyen et al. 2024,
// arXiv:2407.01082.
class MinP final : public SamplerStage {
 public:
  explicit MinP(Parameters p) : p_(p[0]), min_keep_(std::max<std::size_t>(1, count(p[1]))) {}
  void apply(Candidates& candidates, Random&) override {
    if (p_ > 0)
      keep_from(candidates,
                std::min<double>(highest(candidates) + std::log(p_), highest(candidates)),
                min_keep_);
  }

 private:
  double p_;
  std::size_t min_keep_;
};

// Logits within n standard deviations of the highest one. Source: Tang et al. 2024,
// arXiv:2411.07641.
class TopNSigma final : public SamplerStage {
 public:
  explicit TopNSigma(Parameters p) : n_(p[0]) {}

  void apply(Candidates& candidates, Random&) override {
    if (n_ <= 0) return;
    double sum = 0;
    double squares = 0;
    std::size_t n = 0;
    for (const Candidate& c : candidates.items) {
      if (std::isfinite(c.logit)) sum += c.logit, ++n;
    }
    if (n == 0) return;
    const double mean = sum / static_cast<double>(n);
    for (const Candidate& c : candidates.items) {
      if (std::isfinite(c.logit)) squares += (c.logit - mean) * (c.logit - mean);
    }
    keep_from(candidates, highest(candidates) - n_ * std::sqrt(squares / static_cast<double>(n)),
              1);
  }

 private:
  double n_;
};

// The candidates whose surprise -log p is nearest to the entropy, as many as together have
// probability p. Source: Meister et al. 2022, arXiv:2202.00666.
class Typical final : public SamplerStage {
 public:
  explicit Typical(Parameters p) : p_(p[0]), min_keep_(count(p[1])) {}

  void apply(Candidates& candidates, Random&) override {
    if (p_ >= 1) return;
    candidates.sort();
    candidates.softmax();
    double entropy = 0;
    for (const Candidate& c : candidates.items) {
      if (c.p > 0) entropy -= static_cast<double>(c.p) * std::log(static_cast<double>(c.p));
    }
    const auto distance = [entropy](const Candidate& c) {
      return std::abs(-std::log(static_cast<double>(c.p)) - entropy);
    };
    std::sort(candidates.items.begin(), candidates.items.end(),
              [&](const Candidate& a, const Candidate& b) {
                const double da = distance(a);
                const double db = distance(b);
                return da != db ? da < db : before(a, b);
              });
    candidates.sorted = false;
    double sum = 0;
    std::size_t n = 0;
    while (n < candidates.items.size()) {
      sum += candidates.items[n++].p;
      if (sum > p_ && n >= min_keep_) break;
    }
    candidates.keep(n);
  }

 private:
  double p_;
  std::size_t min_keep_;
};

// With the given probability: of the candidates at least as likely as the threshold only the least
// likely one stays. Source: https://github.com/oobabooga/text-generation-webui/pull/6335.
class Xtc final : public SamplerStage {
 public:
  explicit Xtc(Parameters p) : probability_(p[0]), threshold_(p[1]), min_keep_(count(p[2])) {}

  void apply(Candidates& candidates, Random& random) override {
    if (probability_ <= 0 || threshold_ > 0.5 || candidates.items.size() < 2) return;
    if (random.uniform() >= probability_) return;
    candidates.sort();
    candidates.softmax();
    std::vector<Candidate>& items = candidates.items;
    const auto likely =
        static_cast<std::size_t>(std::count_if(items.begin(), items.end(), [&](const Candidate& c) {
          return c.p > 0 && c.p >= threshold_;
        }));
    if (likely < 2 || items.size() - (likely - 1) < min_keep_) return;
    items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(likely - 1));
  }

 private:
  double probability_;
  double threshold_;
  std::size_t min_keep_;
};

// The candidates before the point where the curve of probabilities bends into its flat tail: the
// sum of the normalized second differences up to there is z. Source: Phenix & Egan,
// https://www.trentonbricken.com/Tail-Free-Sampling/
class TailFree final : public SamplerStage {
 public:
  explicit TailFree(Parameters p) : z_(p[0]), min_keep_(count(p[1])) {}

  void apply(Candidates& candidates, Random&) override {
    const std::vector<Candidate>& items = candidates.items;
    if (z_ >= 1 || items.size() <= 2) return;
    candidates.sort();
    candidates.softmax();
    const auto bend = [&](std::size_t i) {
      return std::abs(static_cast<double>(items[i].p) - 2 * static_cast<double>(items[i + 1].p) +
                      static_cast<double>(items[i + 2].p));
    };
    double total = 0;
    for (std::size_t i = 0; i + 2 < items.size(); ++i) total += bend(i);
    if (!(total > 0)) return;
    double sum = 0;
    for (std::size_t i = 0; i + 2 < items.size(); ++i) {
      sum += bend(i) / total;
      if (sum > z_ && i >= min_keep_) return candidates.keep(i);
    }
  }

 private:
  double z_;
  std::size_t min_keep_;
};

}  // namespace

Made top_k(Parameters p) {
  return std::make_unique<TopK>(p);
}
Made top_p(Parameters p) {
  return std::make_unique<TopP>(p);
}
Made min_p(Parameters p) {
  return std::make_unique<MinP>(p);
}
Made typical(Parameters p) {
  return std::make_unique<Typical>(p);
}
Made top_n_sigma(Parameters p) {
  return std::make_unique<TopNSigma>(p);
}
Made xtc(Parameters p) {
  return std::make_unique<Xtc>(p);
}

Made tail_free(Parameters p) {
  return std::make_unique<TailFree>(p);
}

}  // namespace weft::stages
