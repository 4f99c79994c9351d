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
#include <vector>

#include "weft/models/vocabulary.h"

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
// models/src/text/sampler_stages.cpp gives.
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
  int top_k = 40;            // 0 or less: all
  float top_p = 0.95F;       // 1 or more: all
  float min_p = 0.05F;       // 0 or less: all
  float temperature = 0.8F;  // 0 or less: the most likely token, always
};

// Penalties, top-k, top-p, min-p, temperature; stages that would do nothing are left out.
std::vector<StageSpec> sampler_chain(const SamplerOptions& options);

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
