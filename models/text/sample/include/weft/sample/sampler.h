#pragma once
// Chooses the next token from logits: a chain of stages that change or remove candidates, then a
// draw. The same seed, logits and history give the same tokens everywhere: generator and draw are
// defined here, no <random>. A sampler belongs to one conversation and is used by one thread at a
// time; after the first call it allocates nothing.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/tokenize/vocabulary.h"

namespace weft {

// xoshiro256++ by Blackman and Vigna (https://prng.di.unimi.it), its state filled from the seed by
// splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  std::uint64_t next();
  double uniform();  // in [0, 1), a multiple of 2^-53

 private:
  std::uint64_t state_[4];
};

struct Candidate {
  TokenId id;
  float logit;
  float p;  // valid after Candidates::softmax()
};

// The tokens that are still in the draw. Never empty while a chain runs.
struct Candidates {
  std::vector<Candidate> items;
  bool sorted = false;  // by logit, highest first, equal ones by id

  void sort();
  // Fills p: the probabilities of the candidates among themselves. REQUIRES: no logit is NaN and
  // one is above -inf.
  void softmax();
  // Keeps the first n (at least one). `sorted` stays what it was.
  void keep(std::size_t n);
  // Null where the token is not a candidate.
  Candidate* find(TokenId id);
};

class SamplerStage {
 public:
  virtual ~SamplerStage() = default;
  virtual void apply(Candidates& candidates, Random& random) = 0;
  virtual void accept(TokenId) {}  // a token that is now part of the text
  virtual void reset() {}          // a new text begins
};

// A stage by name with its parameters in the order that the table in
// models/text/sample/src/sampler_stages.cpp gives.
struct StageSpec {
  std::string name;
  std::vector<double> parameters;
};

// Throws UnsupportedError for an unknown name (the message lists the known ones), ValueError for
// wrong parameters.
std::unique_ptr<SamplerStage> make_sampler_stage(const StageSpec& spec);

struct SamplerOptions {
  std::uint64_t seed = 0;
  int penalty_last_n =
      64;  // how many of the latest tokens the penalties look at; 0 or less: no penalties
  float repeat_penalty = 1.0F;
  float frequency_penalty = 0.0F;
  float presence_penalty = 0.0F;
  int top_k = 40;                 // 0 or less: all
  float top_p = 0.95F;            // 1 or more: all
  float min_p = 0.05F;            // 0 or less: all
  float temperature = 0.8F;       // 0 or less: the most likely token, always
  float dynamic_range = 0.0F;     // the temperature varies by so much, with the entropy
  float dynamic_exponent = 1.0F;  // and so strongly
  float typical_p = 1.0F;         // 1 or more: all
  float top_n_sigma = -1.0F;      // 0 or less: all
  float tail_free_z = 1.0F;       // 1 or more: all
  float xtc_probability = 0.0F;
  float xtc_threshold = 0.1F;
  float dry_multiplier = 0.0F;  // 0: off
  float dry_base = 1.75F;
  int dry_allowed_length = 2;
  int dry_last_n = -1;                // -1: the whole text
  std::vector<TokenId> dry_breakers;  // repetitions do not reach across these
  int mirostat = 0;                   // 1, 2: instead of all that leaves out candidates
  float mirostat_tau = 5.0F;
  float mirostat_eta = 0.1F;
  float adaptive_target = -1.0F;  // 0 and more: the probability that choices are drawn towards
  float adaptive_decay = 0.9F;
  std::vector<std::pair<TokenId, float>> logit_bias;  // -inf: never
  // The order of the stages, by the names of kSamplerOrder.
  std::vector<std::string> order;
};

// penalties;dry;top_n_sigma;top_k;typ_p;tail_free;top_p;min_p;xtc;temperature;adaptive_p: the
// default order. Logit biases come before all others, mirostat and adaptive-p behind.
extern const std::vector<std::string> kSamplerOrder;

// The stages in order; those that would do nothing are left out. Throws UnsupportedError for an
// unknown name in the order.
std::vector<StageSpec> sampler_chain(const SamplerOptions& options);

// The n most likely tokens and the logarithms of their probabilities before any stage, best first.
struct Likely {
  TokenId id;
  float logprob;
};
std::vector<Likely> most_likely(std::span<const float> logits, std::size_t n);
float logprob(std::span<const float> logits, TokenId id);
// What to take off a logit for the logarithm of its probability. REQUIRES: one is above -inf.
double log_of_total(std::span<const float> logits);

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options = {})
      : Sampler(sampler_chain(options), options.seed) {}
  Sampler(std::span<const StageSpec> chain, std::uint64_t seed);

  // `logits` [V], one per token of the vocabulary. Throws ValueError where one is NaN or +inf (the
  // message names the token) or where all are -inf. The choice becomes part of the text only
  // through accept().
  TokenId sample(std::span<const float> logits);
  // The tokens of the prompt and those that were chosen, in order.
  void accept(TokenId id);
  // A new text begins; the random numbers start again from the seed.
  void reset();

  // What the stages left at the last sample(), with probabilities.
  std::span<const Candidate> candidates() const { return candidates_.items; }

 private:
  std::vector<std::unique_ptr<SamplerStage>> stages_;
  std::uint64_t seed_;
  Random random_;
  Candidates candidates_;
};

}  // namespace weft
