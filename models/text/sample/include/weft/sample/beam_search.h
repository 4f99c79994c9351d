#pragma once
// Beam search: the most likely texts as a whole, instead of one drawn token by token. Each step
// looks at every token after every hypothesis and goes on with the few best of them.
//
//   SessionBeams model(session);   // weft/run/session_beams.h
//   BeamSearch search(model, {.beams = 4, .max_tokens = 100});
//   while (search.step()) {}
//   search.best().front().tokens

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/tokenize/vocabulary.h"

namespace weft {

// A hypothesis goes on: with this token behind the one that was number `beam`.
struct BeamStep {
  std::size_t beam = 0;
  TokenId token = kNoToken;
  bool operator==(const BeamStep&) const = default;
};

// What a search asks about its hypotheses, which have the numbers 0 .. n - 1; in the beginning
// there is one, with no tokens.
class BeamModel {
 public:
  virtual ~BeamModel() = default;
  // The logarithms of the probabilities of the next token [V]; -inf for what may not come. Valid
  // until the next call.
  virtual std::span<const float> logprobs(std::size_t beam) = 0;
  // Whether the text is over with that token, which is still part of the hypothesis.
  virtual bool ends(std::size_t beam, TokenId token) = 0;
  // The hypotheses from now on; number i is what was chosen[i].
  virtual void advance(std::span<const BeamStep> chosen) = 0;
};

// When a search is over before max_tokens: once it has as many complete hypotheses as beams, and
enum class EarlyStopping : std::uint8_t {
  never,   // nothing can become better than the worst of them
  likely,  // nothing would be better than the worst of them if it ended now. With a length penalty
           // of 0 that is the same as `never`
  first,   // at once
};
std::string_view to_string(EarlyStopping stopping);

struct BeamOptions {
  std::size_t beams = 4;  // how many hypotheses go on at a time
  // A hypothesis has the sum of its tokens' logarithms of probabilities, divided by their number to
  // this power, as score. 1: the mean; 0: the sum, so that short texts win; above 1: long ones.
  double length_penalty = 1.0;
  EarlyStopping stopping = EarlyStopping::likely;
  std::int64_t max_tokens = 1;
};

struct Hypothesis {
  std::vector<TokenId> tokens;
  double logprob = 0;
  double score = 0;
  bool ended = false;  // otherwise it was cut
};

// The same steps as the beam search of Hugging Face's generate(): of all continuations the best
// `beams` that do not end go on; those that end count where fewer than `beams` are better. Equally
// good ones stand in the order of hypotheses and tokens.
class BeamSearch {
 public:
  // The model must outlive it. Throws ValueError for options that make no sense.
  BeamSearch(BeamModel& model, const BeamOptions& options);

  // One token more; false where the search is over or no hypothesis can go on, and then nothing was
  // done. Throws ValueError where no token may come first. After what the model throws, best() is
  // what it was before the call, but the search cannot go on.
  bool step();

  // The best `beams` hypotheses, best first. Those that had not ended count when they reached
  // max_tokens or the search was left early.
  std::vector<Hypothesis> best() const;
  std::int64_t n_tokens() const { return n_tokens_; }  // steps that were done

 private:
  struct Candidate {
    BeamStep step;
    double logprob;
  };
  double score(double logprob, std::int64_t n_tokens) const;
  std::vector<Candidate> best_candidates(std::size_t n);
  bool enough(double best_logprob, std::int64_t n_tokens,
              const std::vector<Hypothesis>& ended) const;
  void keep_best(std::vector<Hypothesis>& hypotheses) const;

  BeamModel& model_;
  const BeamOptions options_;
  std::int64_t n_tokens_ = 0;
  bool over_ = false;
  std::vector<Hypothesis> live_{Hypothesis{}};
  std::vector<Hypothesis> ended_;  // best first
};

}  // namespace weft
