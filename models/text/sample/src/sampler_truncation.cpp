// Stages that remove candidates.

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/sample/stages.h"

#include "stage_checks.h"

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

class TopKStage final : public StageOf<TopKStage> {
 public:
  explicit TopKStage(const TopK& p) : p_(p) {}
  std::string_view name() const override { return "top_k"; }
  void apply(Candidates& candidates, Random&) override {
    if (p_.k > 0) keep_top(candidates, static_cast<std::size_t>(p_.k));
  }

 private:
  const TopK p_;
};

class TopPStage final : public StageOf<TopPStage> {
 public:
  explicit TopPStage(const TopP& p) : p_(p) { check_finite(name(), {{"p", p.p}}); }
  std::string_view name() const override { return "top_p"; }

  void apply(Candidates& candidates, Random&) override {
    if (p_.p >= 1) return;
    candidates.sort();
    candidates.softmax();
    double sum = 0;
    std::size_t n = 0;
    while (n < candidates.items.size()) {
      sum += candidates.items[n++].p;
      if (sum >= p_.p && n >= p_.min_keep) break;
    }
    candidates.keep(n);
  }

 private:
  const TopP p_;
};

// Keeps logits of at least `floor`, and `min_keep` candidates regardless of their logits.
void keep_from(Candidates& candidates, double floor, std::size_t min_keep) {
  std::vector<Candidate>& items = candidates.items;
  const auto stays = [floor](const Candidate& c) { return c.logit >= floor; };
  const auto n = static_cast<std::size_t>(std::count_if(items.begin(), items.end(), stays));
  if (n < min_keep) return keep_top(candidates, min_keep);
  items.erase(
      std::remove_if(items.begin(), items.end(), [&](const Candidate& c) { return !stays(c); }),
      items.end());
}

float max_logit(const Candidates& candidates) {
  float max = -std::numeric_limits<float>::infinity();
  for (const Candidate& c : candidates.items) max = std::max(max, c.logit);
  return max;
}

class MinPStage final : public StageOf<MinPStage> {
 public:
  explicit MinPStage(const MinP& p) : p_(p) { check_finite(name(), {{"p", p.p}}); }
  std::string_view name() const override { return "min_p"; }

  void apply(Candidates& candidates, Random&) override {
    if (p_.p <= 0) return;
    const double max = max_logit(candidates);
    keep_from(candidates, std::min(max + std::log(p_.p), max),
              std::max<std::size_t>(1, p_.min_keep));
  }

 private:
  const MinP p_;
};

class TopNSigmaStage final : public StageOf<TopNSigmaStage> {
 public:
  explicit TopNSigmaStage(const TopNSigma& p) : p_(p) { check_finite(name(), {{"n", p.n}}); }
  std::string_view name() const override { return "top_n_sigma"; }

  void apply(Candidates& candidates, Random&) override {
    if (p_.n <= 0) return;
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
    const double deviation = std::sqrt(squares / static_cast<double>(n));
    keep_from(candidates, max_logit(candidates) - p_.n * deviation, 1);
  }

 private:
  const TopNSigma p_;
};

class TypicalStage final : public StageOf<TypicalStage> {
 public:
  explicit TypicalStage(const Typical& p) : p_(p) { check_finite(name(), {{"p", p.p}}); }
  std::string_view name() const override { return "typ_p"; }

  void apply(Candidates& candidates, Random&) override {
    if (p_.p >= 1) return;
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
      if (sum > p_.p && n >= p_.min_keep) break;
    }
    candidates.keep(n);
  }

 private:
  const Typical p_;
};

class XtcStage final : public StageOf<XtcStage> {
 public:
  explicit XtcStage(const Xtc& p) : p_(p) {
    check_finite(name(), {{"probability", p.probability}, {"threshold", p.threshold}});
  }
  std::string_view name() const override { return "xtc"; }

  void apply(Candidates& candidates, Random& random) override {
    if (p_.probability <= 0 || p_.threshold > 0.5 || candidates.items.size() < 2) return;
    if (random.uniform() >= p_.probability) return;
    candidates.sort();
    candidates.softmax();
    std::vector<Candidate>& items = candidates.items;
    const auto likely =
        static_cast<std::size_t>(std::count_if(items.begin(), items.end(), [&](const Candidate& c) {
          return c.p > 0 && c.p >= p_.threshold;
        }));
    if (likely < 2 || items.size() - (likely - 1) < p_.min_keep) return;
    items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(likely - 1));
  }

 private:
  const Xtc p_;
};

class TailFreeStage final : public StageOf<TailFreeStage> {
 public:
  explicit TailFreeStage(const TailFree& p) : p_(p) { check_finite(name(), {{"z", p.z}}); }
  std::string_view name() const override { return "tail_free"; }

  void apply(Candidates& candidates, Random&) override {
    const std::vector<Candidate>& items = candidates.items;
    if (p_.z >= 1 || items.size() <= 2) return;
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
      if (sum > p_.z && i >= p_.min_keep) return candidates.keep(i);
    }
  }

 private:
  const TailFree p_;
};

}  // namespace

StagePtr make(const TopK& p) {
  return std::make_unique<TopKStage>(p);
}
StagePtr make(const TopP& p) {
  return std::make_unique<TopPStage>(p);
}
StagePtr make(const MinP& p) {
  return std::make_unique<MinPStage>(p);
}
StagePtr make(const Typical& p) {
  return std::make_unique<TypicalStage>(p);
}
StagePtr make(const TopNSigma& p) {
  return std::make_unique<TopNSigmaStage>(p);
}
StagePtr make(const Xtc& p) {
  return std::make_unique<XtcStage>(p);
}
StagePtr make(const TailFree& p) {
  return std::make_unique<TailFreeStage>(p);
}

}  // namespace weft::stages
