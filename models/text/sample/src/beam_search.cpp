#include "weft/sample/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "weft/base/error.h"

namespace weft {
namespace {

constexpr std::size_t kMaxBeams = 4096;

}  // namespace

std::string_view to_string(EarlyStopping stopping) {
  constexpr std::string_view kNames[] = {"never", "likely", "first"};
  return kNames[static_cast<std::size_t>(stopping)];
}

BeamSearch::BeamSearch(BeamModel& model, const BeamOptions& options)
    : model_(model), options_(options) {
  if (options.beams < 1 || options.beams > kMaxBeams)
    fail<ValueError>("a search has 1..{} beams, got {}", kMaxBeams, options.beams);
  if (!std::isfinite(options.length_penalty))
    fail<ValueError>("the length penalty must be a number, got {}", options.length_penalty);
  if (options.max_tokens < 0)
    fail<ValueError>("a hypothesis cannot have {} tokens", options.max_tokens);
}

double BeamSearch::score(double logprob, std::int64_t n_tokens) const {
  return logprob / std::pow(static_cast<double>(n_tokens), options_.length_penalty);
}

// The best n continuations of all hypotheses, best first.
std::vector<BeamSearch::Candidate> BeamSearch::best_candidates(std::size_t n) {
  const auto better = [](const Candidate& a, const Candidate& b) {
    if (a.logprob != b.logprob) return a.logprob > b.logprob;
    return a.step.beam != b.step.beam ? a.step.beam < b.step.beam : a.step.token < b.step.token;
  };
  std::vector<Candidate> best;  // a heap, the worst on top
  best.reserve(n + 1);
  for (std::size_t beam = 0; beam < live_.size(); ++beam) {
    const std::span<const float> row = model_.logprobs(beam);
    for (std::size_t token = 0; token < row.size(); ++token) {
      if (!(row[token] > -std::numeric_limits<float>::infinity())) continue;
      const Candidate c{{beam, static_cast<TokenId>(token)}, live_[beam].logprob + row[token]};
      if (best.size() == n && !better(c, best.front())) continue;
      best.push_back(c);
      std::ranges::push_heap(best, better);
      if (best.size() <= n) continue;
      std::ranges::pop_heap(best, better);
      best.pop_back();
    }
  }
  std::ranges::sort_heap(best, better);
  return best;
}

void BeamSearch::keep_best(std::vector<Hypothesis>& hypotheses) const {
  std::ranges::stable_sort(hypotheses, std::ranges::greater(), &Hypothesis::score);
  if (hypotheses.size() > options_.beams) hypotheses.resize(options_.beams);
}

// Whether hypotheses of `n_tokens` tokens, whose best one has the sum `best_logprob`, need not be
// extended.
bool BeamSearch::enough(double best_logprob, std::int64_t n_tokens,
                        const std::vector<Hypothesis>& ended) const {
  if (ended.size() < options_.beams) return false;
  if (options_.stopping == EarlyStopping::first) return true;
  // Sums can only decrease. The score of a sum is highest for the longest or the shortest text.
  std::int64_t length = n_tokens;
  if (options_.stopping == EarlyStopping::never)
    length = options_.length_penalty > 0 ? options_.max_tokens : n_tokens + 1;
  return score(best_logprob, length) <= ended.back().score;
}

Hypothesis BeamSearch::extended(const Candidate& c, bool ends) const {
  Hypothesis h{live_[c.step.beam].tokens, c.logprob, score(c.logprob, n_tokens_ + 1), ends};
  h.tokens.push_back(c.step.token);
  return h;
}

// The best continuations that do not end the text, at most one per beam. `ended` becomes the
// hypotheses that have ended so far and those of the best continuations that end.
std::vector<BeamSearch::Candidate> BeamSearch::continuations(std::vector<Hypothesis>& ended) {
  const std::size_t n_beams = options_.beams;
  // Mostly few of the best end the text. If many do, more are looked at.
  for (std::size_t n = 2 * n_beams;; n *= 4) {
    const std::vector<Candidate> candidates = best_candidates(n);
    std::vector<Candidate> going;
    ended = ended_;
    for (std::size_t i = 0; i < candidates.size() && going.size() < n_beams; ++i) {
      const BeamStep& s = candidates[i].step;
      if (!model_.ends(s.beam, s.token)) {
        going.push_back(candidates[i]);
      } else if (i < n_beams) {
        ended.push_back(extended(candidates[i], true));
      }
    }
    if (going.size() == n_beams || candidates.size() < n) return going;
  }
}

bool BeamSearch::step() {
  if (over_ || n_tokens_ == options_.max_tokens) return false;
  std::vector<Hypothesis> ended;
  const std::vector<Candidate> going = continuations(ended);
  if (going.empty() && ended.empty()) {
    if (n_tokens_ == 0) fail<ValueError>("no token may come first");
    over_ = true;  // the hypotheses cannot be extended
    return false;
  }
  keep_best(ended);

  std::vector<Hypothesis> live;
  std::vector<BeamStep> chosen;
  for (const Candidate& c : going) {
    live.push_back(extended(c, false));
    chosen.push_back(c.step);
  }
  const bool over = live.empty() || enough(live.front().logprob, n_tokens_ + 1, ended);
  if (!over && n_tokens_ + 1 < options_.max_tokens) model_.advance(chosen);
  if (over) live.clear();
  live_ = std::move(live);
  ended_ = std::move(ended);
  over_ = over;
  ++n_tokens_;
  return true;
}

std::vector<Hypothesis> BeamSearch::best() const {
  std::vector<Hypothesis> all = ended_;
  if (n_tokens_ > 0) all.insert(all.end(), live_.begin(), live_.end());
  keep_best(all);
  return all;
}

}  // namespace weft
