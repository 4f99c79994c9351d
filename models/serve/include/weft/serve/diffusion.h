#pragma once
// Texts of diffusion language models (Dream, LLaDA, RND1): the new tokens begin masked, and each
// step of the model fills in some of them, in any order, until none is masked.
//
//   const weft::DiffusionOptions how{.max_tokens = 64, .steps = 32};
//   weft::Session session(model, weft::diffusion_session({}, prompt.size(), how));
//   weft::Diffusion text(session, 0, how);
//   text.begin(prompt);
//   while (text.step()) show(text.text("_"));
//
// Every step computes the whole text anew. The same seed gives the same text. Ownership and threads
// as for Generation (weft/serve/generation.h).
// Sources: Nie et al. 2025, arXiv:2502.09992 (LLaDA); Ye et al. 2025, arXiv:2508.15487 (Dream).

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/run/session.h"
#include "weft/sample/sampler.h"
#include "weft/serve/generation.h"

namespace weft {

// Which masked positions a step fills in: those with the highest score, of the model's
// probabilities before any sampler.
enum class DiffusionAlgorithm : std::uint8_t {
  confidence,  // the probability of the chosen token
  entropy,     // minus the entropy
  margin,      // the distance between the two highest probabilities
  random,      // positions are drawn at random
};
std::string_view to_string(DiffusionAlgorithm algorithm);
std::span<const DiffusionAlgorithm> diffusion_algorithms();

struct DiffusionOptions {
  SamplerOptions sampler = {};    // chooses the token of each position. There is no history, so
                                  // penalties for repetition, mirostat and adaptive sampling do
                                  // not see the text
  std::int64_t max_tokens = 128;  // new tokens, all of which are computed in every step
  std::int64_t steps = 128;
  DiffusionAlgorithm algorithm = DiffusionAlgorithm::confidence;
  double algorithm_temperature = 0;  // positions are drawn with weights exp(score / t); 0: the best
  // 0: the share of masked tokens falls in equal steps from 1 to eps, then the rest is filled in.
  // Else: blocks of this many tokens are filled in from left to right, each in an equal share of
  // the steps.
  std::int64_t block_length = 0;
  double eps = 1e-3;  // 0 <= eps < 1; with block_length 0
  // Classifier-free guidance, as in LLaDA: with g > 0, a step computes the text with the prompt and
  // with a masked one, and uses the logits masked + (1 + g) * (with - masked).
  double guidance = 0;
  // The logits of a token come from the position before it. Default: the key
  // diffusion.shift_logits, or true.
  std::optional<bool> shift_logits = {};
  TokenId mask_token = kNoToken;        // default: the vocabulary's
  std::atomic<bool>* cancel = nullptr;  // aborts a step; must outlive the text
};

// Whether texts of the model are written by Diffusion: its architecture is one of diffusion models,
// and its tokens see those after them.
bool is_diffusion_model(const Model& model);

// Throws what the constructor of Diffusion throws for any session of this model, before there is a
// session, which loads the weights.
void check_diffusion(const Model& model, const DiffusionOptions& options);

// The options with steps that are wide enough for such texts after a prompt of `n_prompt` tokens,
// or kMaxPrefillWidth. Throws ValueError for diffusion options out of range. Session checks the
// others.
SessionOptions diffusion_session(SessionOptions session, std::size_t n_prompt,
                                 const DiffusionOptions& options);

class Diffusion {
 public:
  // Throws UnsupportedError if the model is not a diffusion model or no mask token is known,
  // ValueError for options out of range (fewer steps than blocks or more than 2^20, more tokens
  // than kMaxPrefillWidth), for a session that returns embeddings and for a sequence that it does
  // not have, and like Sampler.
  Diffusion(Session& session, std::int32_t sequence, const DiffusionOptions& options = {});
  ~Diffusion();
  Diffusion(Diffusion&&) noexcept;

  // Begins a new text after a prompt. Throws ValueError, and changes nothing, if the prompt is
  // empty, or if prompt and new tokens do not fit into a step of the session, its context or its
  // rows of logits.
  void begin(std::span<const TokenId> prompt);
  // Starts the random numbers at this seed, at the next begin().
  void set_seed(std::uint64_t seed);

  // Fills in tokens. Returns false if nothing was masked, or if cancelled; the text is then
  // unchanged. Steps of the schedule that fill in nothing are skipped. Throws ValueError before
  // the first begin(), and like Session::step().
  bool step();

  std::span<const TokenId> tokens() const;  // the prompt and the new tokens
  std::int64_t n_prompt() const;
  bool is_masked(std::size_t i) const;  // tokens()[i]
  std::int64_t n_masked() const;
  std::int64_t n_steps() const;     // steps of the schedule
  std::int64_t steps_done() const;  // including those that were skipped
  std::int64_t n_computed() const;  // steps of the model since begin()
  // The new text up to the first token that ends it. Masked tokens appear as `masked`. Throws
  // UnsupportedError if the model has no tokenizer.
  std::string text(std::string_view masked = "") const;
  std::int64_t n_text() const;  // its tokens; throws likewise

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
