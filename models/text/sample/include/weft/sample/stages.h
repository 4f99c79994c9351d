#pragma once
// The stages of a sampler, each a struct of its parameters and a function that makes it. To add a
// stage, add both here and a row to the table in models/text/sample/src/sampler_chain.cpp.
//
// make() throws ValueError if a parameter is not a finite number (an infinite bias excepted) or out
// of the range given here. A stage whose parameters make it do nothing is still made.

#include <cstddef>
#include <utility>
#include <vector>

#include "weft/sample/sampler_stage.h"

namespace weft::stages {

// ---- stages that change logits (src/sampler_logits.cpp, sampler_history.cpp)

// Adds to the logits of single tokens. -inf: the token is never chosen.
struct LogitBias {
  std::vector<std::pair<TokenId, double>> biases;
};

// For tokens among the last `last_n`: a positive logit is divided by `repeat`, a negative one is
// multiplied by it; then logit -= count * frequency + presence.
// Source of the first: Keskar et al. 2019, arXiv:1909.05858.
struct Penalties {
  int last_n = 0;  // 0 or less: no penalties
  double repeat = 1, frequency = 0, presence = 0;
};

// Penalizes tokens that would continue a repetition of earlier text: a token that follows an
// earlier copy of the latest n tokens loses multiplier * base^(n - allowed_length), for the longest
// such n. Repetitions do not reach across breakers.
// Source: https://github.com/oobabooga/text-generation-webui/pull/5677
struct Dry {
  double multiplier = 0, base = 1.75;
  int allowed_length = 2;
  int last_n = -1;  // how far back to look; -1: the whole text
  std::vector<TokenId> breakers;
};

// logit / t; for t <= 0 (and up to 1e-6) only the highest logit stays.
struct Temperature {
  double t = 1;
};

// A temperature within t +- delta that grows with the entropy of the distribution, relative to that
// of a uniform one.
struct DynamicTemperature {
  double t = 1, delta = 0, exponent = 1;
};

// ---- stages that remove candidates (src/sampler_truncation.cpp). The `min_keep` most likely
// candidates always stay.

struct TopK {
  int k = 0;  // 0 or less: all
};

// The smallest set of the most likely candidates with a total probability of at least p.
// Source: Holtzman et al. 2019, arXiv:1904.09751.
struct TopP {
  double p = 1;
  std::size_t min_keep = 1;
};

// Candidates at least p times as likely as the most likely one.
// Source: Nguyen et al. 2024, arXiv:2407.01082.
struct MinP {
  double p = 0;
  std::size_t min_keep = 1;
};

// The candidates whose surprise -log p is closest to the entropy, until their total probability is
// at least p. Source: Meister et al. 2022, arXiv:2202.00666.
struct Typical {
  double p = 1;
  std::size_t min_keep = 1;
};

// Logits within n standard deviations of the highest one.
// Source: Tang et al. 2024, arXiv:2411.07641.
struct TopNSigma {
  double n = 0;
};

// With the given probability: of the candidates at least as likely as the threshold, only the least
// likely one stays. Source: https://github.com/oobabooga/text-generation-webui/pull/6335
struct Xtc {
  double probability = 0, threshold = 0.1;
  std::size_t min_keep = 1;
};

// The candidates before the point where the curve of probabilities bends into its flat tail: the
// sum of the normalized second differences up to that point is z.
// Source: Phenix & Egan, https://www.trentonbricken.com/Tail-Free-Sampling/
struct TailFree {
  double z = 1;
  std::size_t min_keep = 1;
};

// ---- stages that adapt to the tokens chosen so far (src/sampler_adaptive.cpp). They come last in
// a chain: the draw is made from the candidates that they keep.

// The surprise (in bits) of a chosen token moves the bound mu towards the target tau. Version 1
// estimates the exponent of Zipf's law from the m most likely tokens, and keeps the number of
// tokens that gives an expected surprise of mu. REQUIRES: tau, eta >= 0. Source: Basu et al. 2020,
// arXiv:2007.14966.
struct Mirostat1 {
  double tau = 5, eta = 0.1;
  std::size_t m = 100;
};
// Version 2 keeps the tokens whose surprise is at most mu.
struct Mirostat2 {
  double tau = 5, eta = 0.1;
};

// Prefers tokens whose probability is near a target, which moves so that the probabilities of the
// chosen tokens have the target as their weighted mean: the weight of a token is `decay` times
// that of the next one. A target below 0: the stage does nothing.
// Source: https://github.com/ggml-org/llama.cpp/pull/17927
struct AdaptiveP {
  double target = -1, decay = 0.9;
};

StagePtr make(const LogitBias& p);
StagePtr make(const Penalties& p);
StagePtr make(const Dry& p);
StagePtr make(const Temperature& p);
StagePtr make(const DynamicTemperature& p);
StagePtr make(const TopK& p);
StagePtr make(const TopP& p);
StagePtr make(const MinP& p);
StagePtr make(const Typical& p);
StagePtr make(const TopNSigma& p);
StagePtr make(const Xtc& p);
StagePtr make(const TailFree& p);
StagePtr make(const Mirostat1& p);
StagePtr make(const Mirostat2& p);
StagePtr make(const AdaptiveP& p);

}  // namespace weft::stages
