#pragma once
// The state of a text that is being written. `tokens` are the prompt and what was decided after it;
// the sequence holds the first `n_fed` of them; the first `n_delivered` went out in events (or are
// the prompt). Between the two lie tokens that were chosen but not fed yet, and tokens that the
// grammar forces, which are fed together with the one before them.

#include <optional>

#include "weft/serve/generation.h"
#include "weft/tokenize/token_healing.h"

namespace weft {

struct Generation::Impl {
  Impl(Session& session, std::int32_t sequence, const GenerationOptions& options);

  void begin(std::vector<TokenId> prompt, Draws draws);
  bool feed(const std::function<void(std::int64_t, std::int64_t)>& progress = {});
  // An event that needs no computation, if there is one.
  std::optional<GenerationEvent> without_step();
  // Keeps the logits if it throws, so that next() can try again.
  GenerationEvent choose(std::span<const float> logits);
  GenerationEvent choose_from(std::span<const float> logits);
  GenerationEvent deliver(TokenId token, std::span<const float> logits);
  GenerationEvent end(StopReason reason, TokenId token = kNoToken);

  void begin_rules();
  void look_ahead();
  void set_sampler(const SamplerOptions& with);
  std::span<const float> allowed(std::span<const float> logits);
  void add_text(TokenId token);
  void add_rest();
  StopReason stop_after(bool complete) const;
  void show_sampler_prompt();
  std::span<const TokenId> pending() const { return std::span(tokens).subspan(n_fed); }
  bool is_cancelled() const { return *cancel; }
  bool heals() const { return healing && !healing->text().empty(); }
  std::int64_t n_new() const { return static_cast<std::int64_t>(n_delivered - n_prompt); }

  Session& session;
  const std::int32_t sequence;
  GenerationOptions options;
  const Tokenizer* tokenizer;  // null if the model has none: then there is no text
  std::atomic<bool> own_cancel{false};
  std::atomic<bool>* cancel;
  std::vector<TokenId> end_tokens;  // for ignore_eos

  Sampler sampler;
  std::optional<TextRules> rules;  // null if there are none
  bool rules_are_healed = false;   // their grammar has the prefix of one prompt
  std::optional<TokenHealing> healing;
  std::optional<Detokenizer> detokenizer;

  std::vector<TokenId> tokens;
  std::size_t n_prompt = 0, n_fed = 0, n_delivered = 0, n_reused = 0;
  std::size_t n_seen = 0;  // tokens that the sampler knows
  bool may_look_ahead = false;
  bool has_begun = false;
  StopReason stopped = StopReason::cancelled;  // nothing has begun

  // The logits behind the last token that was fed, until a token is chosen from them: prefill()
  // computed them and next() comes later, or a choice threw.
  std::vector<float> unused_logits;
  std::vector<float> changed_logits;
  std::string out;
  TokenLogprobs logprobs;
};

}  // namespace weft
