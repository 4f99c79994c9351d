#pragma once
// One step of a sampler: it changes the logits of the candidates, or removes candidates. The stages
// that exist are listed in weft/sample/stages.h.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
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

// The tokens that can still be drawn. Never empty while a chain runs.
struct Candidates {
  std::vector<Candidate> items;
  bool sorted = false;  // by descending logit, ties by ascending id

  void sort();
  // Sets p to the probability of each candidate among the remaining ones. REQUIRES: no logit is NaN
  // and at least one is above -inf.
  void softmax();
  // Keeps the first n candidates, at least one. Does not change `sorted`.
  void keep(std::size_t n);
  // Null if the token is not a candidate.
  Candidate* find(TokenId id);
};

class SamplerStage;
using StagePtr = std::unique_ptr<SamplerStage>;

class SamplerStage {
 public:
  virtual ~SamplerStage() = default;
  virtual std::string_view name() const = 0;  // as in kSamplerOrder
  virtual void apply(Candidates& candidates, Random& random) = 0;
  virtual void accept(TokenId) {}  // the token is now part of the text
  virtual void reset() {}          // a new text begins
  // Whether apply() always leaves the likeliest candidate alone, and draws no random number.
  virtual bool keeps_likeliest() const { return false; }
  // A stage with the same parameters that has seen the same text. It shares nothing with this one.
  virtual StagePtr clone() const = 0;
};

// A base for stages whose copies are such clones: class MyStage final : public StageOf<MyStage>.
template <class Stage>
class StageOf : public SamplerStage {
 public:
  StagePtr clone() const final { return std::make_unique<Stage>(static_cast<const Stage&>(*this)); }
};

}  // namespace weft
