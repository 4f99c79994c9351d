#pragma once
// Decides how many tokens of prompts a step computes. Beside texts that generate, prompts get as
// much time as these, so that texts keep half of their speed and prompts make progress. Measured
// times correct the estimates. Nothing here changes a result.

#include <cstdint>
#include <span>
#include <vector>

namespace weft::serve {

class PromptPacing {
 public:
  struct Width {
    std::int64_t tokens;  // bound of a plan: its widest step
    double seconds;       // predicted for that step
  };
  // `widths` are ascending. `max_beside` limits the tokens beside texts that generate; 0: no limit.
  PromptPacing(const std::vector<Width>& widths, std::int64_t max_beside);

  // The tokens of prompts for the next step, which also has `n_texts` new tokens, if prompts lack
  // n_pending tokens; at least 1 if n_texts is 0. Beside texts, prompts save up their time for
  // steps that are wide enough to be efficient, as far as texts may wait.
  std::int64_t prompt_tokens(std::int64_t n_texts, std::int64_t n_pending) const;
  // A step took this long.
  void measured(std::int64_t n_texts, std::int64_t n_prompt_tokens, double seconds);

  double seconds_of(std::int64_t n_tokens) const;  // the estimate for a step

 private:
  double pause(std::int64_t n_texts) const;  // how long texts may wait at once
  void learn(std::int64_t n_tokens, double seconds);
  // The largest n up to `max` for which a step of n + n_texts tokens takes at most this long.
  std::int64_t tokens_within(double seconds, std::int64_t n_texts, std::int64_t max) const;

  // A point of the estimate: steps of that many tokens take that long.
  struct Point {
    double tokens = 0, seconds = 0;
    bool is_measured = false;
  };
  std::vector<std::int64_t> bounds_;  // widest step of each plan
  std::vector<Point> points_;         // one per width
  const std::int64_t max_beside_;
  double credit_ = 0;  // seconds that prompts may take beside texts
};

// Divides a number of tokens among prompts, which lack `pending` tokens each, oldest first: the
// oldest one gets half, so that it makes progress; the rest goes to the shortest ones, which soon
// have their first token. Returns the tokens of each.
std::vector<std::int64_t> divide_among_prompts(std::int64_t n_tokens,
                                               std::span<const std::int64_t> pending);

}  // namespace weft::serve
