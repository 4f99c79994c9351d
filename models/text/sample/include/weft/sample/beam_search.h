#pragma once
// Beam search: the most likely texts as a whole, instead of one drawn token by token. Each step
// considers every token after every hypothesis and keeps the best few.
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

// Extends hypothesis number `beam` by a token.
struct BeamStep {
  std::size_t beam = 0;
  TokenId token = kNoToken;
  bool operator==(const BeamStep&) const = default;
};

// The model of a search, with the search's hypotheses, numbered 0 .. n - 1. At the start there is
// one, without tokens.
class BeamModel {
 public:
  virtual ~BeamModel() = default;
  // The log-probabilities of the next token [V]; -inf for tokens that are not allowed. Valid until
  // the next call.
  virtual std::span<const float> logprobs(std::size_t beam) = 0;
  // Whether that token ends the text; it is still part of the hypothesis.
  virtual bool ends(std::size_t beam, TokenId token) = 0;
  // Replaces the hypotheses: number i becomes chosen[i].
  virtual void advance(std::span<const BeamStep> chosen) = 0;
};

// When a search ends before max_tokens: once it has one complete hypothesis per beam, and
enum class EarlyStopping : std::uint8_t {
  never,   // no other hypothesis can become better than the worst of them
  likely,  // no other hypothesis would be better than the worst of them if it ended now. With a
           // length penalty of 0 the same as `never`
  first,   // immediately
};
std::string_view to_string(EarlyStopping stopping);

struct BeamOptions {
  std::size_t beams = 4;  // number of live hypotheses
  // The score of a hypothesis is the sum of its tokens' log-probabilities divided by their number
  // to this power. 1: the mean; 0: the sum, which favours short texts; above 1: favours long ones.
  double length_penalty = 1.0;
  EarlyStopping stopping = EarlyStopping::likely;
  std::int64_t max_tokens = 1;
};

struct Hypothesis {
  std::vector<TokenId> tokens;
  double logprob = 0;
  double score = 0;
  bool ended = false;  // false: cut off by max_tokens
};

// The same algorithm as Hugging Face's generate(): of all continuations, the best `beams` that do
// not end stay live; those that end count if fewer than `beams` continuations are better. Ties go
// by the order of hypotheses and tokens.
class BeamSearch {
 public:
  // The model must outlive it. Throws ValueError for options that make no sense.
  BeamSearch(BeamModel& model, const BeamOptions& options);

  // Extends the hypotheses by one token. Returns false, and does nothing, if the search is over or
  // no hypothesis can be extended. Throws ValueError if no first token is allowed. If the model
  // throws, best() stays what it was before the call, but the search cannot continue.
  bool step();

  // The best `beams` hypotheses, best first. Hypotheses that have not ended count once they reach
  // max_tokens, or if the caller stops the search early.
  std::vector<Hypothesis> best() const;
  std::int64_t n_tokens() const { return n_tokens_; }  // steps taken

 private:
  struct Candidate {
    BeamStep step;
    double logprob;
  };
  double score(double logprob, std::int64_t n_tokens) const;
  std::vector<Candidate> best_candidates(std::size_t n);
  bool enough(double best_logprob, std::int64_t n_tokens,
              const std::vector<Hypothesis>& ended) const;
  Hypothesis extended(const Candidate& c, bool ends) const;
  std::vector<Candidate> continuations(std::vector<Hypothesis>& ended);
  void keep_best(std::vector<Hypothesis>& hypotheses) const;

  BeamModel& model_;
  const BeamOptions options_;
  std::int64_t n_tokens_ = 0;
  bool over_ = false;
  std::vector<Hypothesis> live_{Hypothesis{}};
  std::vector<Hypothesis> ended_;  // best first
};

}  // namespace weft
