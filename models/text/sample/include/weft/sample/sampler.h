#pragma once
// Chooses the next token from logits: a chain of stages that change or remove candidates, then a
// random draw. The same seed, logits and history give the same tokens on every machine: generator
// and draw are defined here, without <random>. A sampler belongs to one conversation and is used by
// one thread at a time; after the first call it does not allocate. It is a value: a copy has seen
// the same text, makes the same draws from here on, and shares nothing with its original.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/sample/sampler_stage.h"

namespace weft {

// People set them by the knobs of weft/sample/sampler_knobs.h.
struct SamplerOptions {
  std::uint64_t seed = 0;
  int penalty_last_n = 64;  // how many of the latest tokens are penalized; 0 or less: none
  float repeat_penalty = 1.0F;
  float frequency_penalty = 0.0F;
  float presence_penalty = 0.0F;
  int top_k = 40;                 // 0 or less: all
  float top_p = 0.95F;            // 1 or more: all
  float min_p = 0.05F;            // 0 or less: all
  float temperature = 0.8F;       // 0 or less: always the most likely token
  float dynamic_range = 0.0F;     // how far the temperature varies with the entropy
  float dynamic_exponent = 1.0F;  // how strongly it follows the entropy
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
  int mirostat = 0;                   // 1, 2: replaces all stages that remove candidates
  float mirostat_tau = 5.0F;
  float mirostat_eta = 0.1F;
  float adaptive_target = -1.0F;  // the target probability of chosen tokens; below 0: off
  float adaptive_decay = 0.9F;
  std::vector<std::pair<TokenId, float>> logit_bias;  // -inf: never
  // Names of kSamplerOrder; nullopt: all of them; empty: none, the draw alone.
  std::optional<std::vector<std::string>> order;
};

// penalties;dry;top_n_sigma;top_k;typ_p;tail_free;top_p;min_p;xtc;temperature;adaptive_p: the
// default order. Logit biases come before all others, mirostat after them.
extern const std::vector<std::string>& kSamplerOrder;

// The stages of these names as kSamplerOrder names them: the names that llama.cpp and others use
// are known as well ("typical_p", "top-k", "temp"). Throws UnsupportedError for other names; the
// message lists kSamplerOrder.
std::vector<std::string> sampler_order(std::span<const std::string> names);
// Whether sampler_order() knows the name.
bool is_sampler(std::string_view name);
// The stages of a text of letters, one per stage, as llama.cpp has them: "kt" is top_k and
// temperature. Throws UnsupportedError for other letters; the message has sampler_letters().
std::vector<std::string> sampler_order_of_letters(std::string_view letters);
// "e penalties, d dry, ..."
std::string sampler_letters();

// The stages in order; those that would do nothing are left out. Throws UnsupportedError for an
// unknown name in the order, ValueError for parameters that a stage refuses.
std::vector<StagePtr> sampler_chain(const SamplerOptions& options);

// The n most likely tokens and the logarithms of their probabilities before any stage, best first.
struct Likely {
  TokenId id;
  float logprob;
};
std::vector<Likely> most_likely(std::span<const float> logits, std::size_t n);
float logprob(std::span<const float> logits, TokenId id);
// The first one with the largest logit. Throws ValueError like Sampler::sample().
TokenId likeliest(std::span<const float> logits);

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options = {})
      : Sampler(sampler_chain(options), options.seed) {}
  // With custom stages: see weft/sample/stages.h.
  Sampler(std::vector<StagePtr> chain, std::uint64_t seed);
  Sampler(const Sampler& from);
  Sampler& operator=(const Sampler& from);
  Sampler(Sampler&&) noexcept = default;
  Sampler& operator=(Sampler&&) noexcept = default;

  // `logits` [V], one per token of the vocabulary. Throws ValueError if one is NaN or +inf (the
  // message names the token) or if all are -inf. The choice becomes part of the text only through
  // accept().
  TokenId sample(std::span<const float> logits);
  // Appends a token to the text: those of the prompt and those that were chosen, in order.
  void accept(TokenId id);
  // A new text begins; the random numbers start again from the seed.
  void reset();
  // The random numbers start at this seed, now and with reset(). The text stays.
  void reseed(std::uint64_t seed);

  // The candidates that the stages kept at the last sample(), with probabilities.
  std::span<const Candidate> candidates() const { return candidates_.items; }

 private:
  std::vector<StagePtr> stages_;
  std::uint64_t seed_;
  Random random_;
  Candidates candidates_;
};

}  // namespace weft
