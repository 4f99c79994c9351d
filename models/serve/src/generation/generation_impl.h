#pragma once
// The state of a text that is being generated. `tokens` are the prompt and the tokens chosen after
// it. The sequence holds the first `n_fed` of them; the first `n_delivered` were returned in events
// (or are the prompt). Between the two are tokens that were chosen but not fed yet, and tokens that
// the grammar forces, which are fed together with the previous one.

#include <algorithm>
#include <optional>

#include "weft/serve/generation.h"
#include "weft/tokenize/token_healing.h"

#include "generation/guesses.h"

namespace weft {

struct Generation::Impl {
  Impl(Session& session, std::int32_t sequence, const GenerationOptions& options);
  // A generation that follows its text with a copy of `rules`, which were made from options.rules.
  static Generation with_rules(Session& session, std::int32_t sequence,
                               const GenerationOptions& options,
                               const std::optional<TextRules>& rules);

  void begin(std::vector<TokenId> prompt, SamplerStart start);
  // The sequence was replaced: what it holds is all that the next text can begin with.
  void end_without_text();
  std::size_t reuse(std::span<const TokenId> prompt);
  // Has the encoder read `source`, unless the sequence has it. Returns false if cancelled.
  bool encode_text();
  bool feed(const std::function<void(std::int64_t, std::int64_t)>& progress = {});
  // An event that needs no computation, if there is one.
  std::optional<GenerationEvent> next_without_step();
  // Keeps the logits if it throws, so that next() can try again.
  GenerationEvent choose(std::span<const float> logits);
  // None if max_tokens is 0: then the prompt was only fed.
  std::optional<GenerationEvent> choose_unless_full(std::span<const float> logits);
  GenerationEvent choose_from(std::span<const float> logits);
  bool ends_text(TokenId token) const;
  GenerationEvent deliver(TokenId token, std::span<const float> logits);
  GenerationEvent end(StopReason reason, TokenId token = kNoToken);

  void make_rules();
  void begin_rules();
  void append_forced();
  void set_sampler(const SamplerOptions& with);
  void set_grammar(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTree> tree);
  void set_lora_scales(std::span<const float> scales);
  std::span<const float> allowed(std::span<const float> logits);
  void add_text(TokenId token);
  void flush_text();
  StopReason stop_after(bool complete);
  std::size_t n_top() const { return static_cast<std::size_t>(std::max(options.logprobs, 0)); }
  bool is_out_of_time();  // REQUIRES: called once for every token, with its text in `out`
  void pass_prompt_to_sampler();
  std::span<const TokenId> pending() const { return std::span(tokens).subspan(n_fed); }
  // There are no more tokens to choose, and the prompt is fed if it has to be.
  bool is_full() const {
    return n_new() == options.max_tokens && !(options.feed_prompt && n_fed < n_prompt);
  }
  // Whether the logits after the token at this position give the logprobs of the prompt's next one.
  bool wants_prompt_row(std::size_t position) const {
    return options.prompt_logprobs && position + 1 < n_prompt && position >= prompt_rows.size();
  }
  void add_prompt_row(std::span<const float> logits);
  bool heals() const { return healing && !healing->text().empty(); }
  std::int64_t n_new() const {
    return static_cast<std::int64_t>(n_delivered - n_prompt) + n_new_dropped;
  }

  Session& session;
  std::int32_t sequence;
  GenerationOptions options;
  const Tokenizer* tokenizer;  // null if the model has none: then there is no text
  std::atomic<bool> own_cancel{false};
  std::atomic<bool>* cancel;
  std::vector<TokenId> end_tokens;  // for ignore_eos

  Sampler sampler;
  std::optional<TextRules> rules;  // null if there are none
  bool rules_are_healed = false;   // their grammar has the prefix of one prompt
  bool rules_are_stale = false;    // `options` has another grammar
  std::optional<TokenHealing> healing;
  std::optional<Detokenizer> detokenizer;

  std::vector<TokenId> tokens;
  std::vector<TokenId> source;  // the encoder's text, if the model has one
  bool must_encode = false;
  std::size_t n_prompt = 0, n_fed = 0, n_delivered = 0, n_reused = 0;
  // All tokens that were dropped, and those that were not of the prompt.
  std::int64_t n_dropped = 0, n_new_dropped = 0;
  // So many tokens that the sequence holds are what computing them gives; -1: all of them.
  std::int64_t n_exact = -1;
  bool continues_inexact = false;  // the next text may begin with what others are
  // What was kept by each drop, in order, for whoever follows the sequence and empties it.
  std::vector<std::vector<TokenRange>> drops;
  std::size_t n_seen = 0;                                // tokens passed to the sampler
  std::chrono::steady_clock::time_point first_token_at;  // with max_time
  bool has_line_break = false;                           // with max_time
  bool may_look_ahead = false;
  bool has_begun = false;
  StopReason stopped = StopReason::cancelled;  // nothing has begun
  serve::Guesses guesses;
  std::optional<Batch> alone;  // of next(); none before its first step

  // The logits after the last fed token, until a token is chosen from them: if prefill() computed
  // them before next(), or if choosing threw an exception.
  std::vector<float> unused_logits;
  std::vector<float> changed_logits;
  std::vector<TokenLogprobs> prompt_rows;  // logprobs of the prompt's tokens 1..
  std::string out;
  TokenLogprobs logprobs;
};

namespace serve {

// For the rest of this layer.
struct GenerationAccess {
  static Generation::Impl& impl(Generation& generation) { return *generation.impl_; }
  static const Generation::Impl& impl(const Generation& generation) { return *generation.impl_; }
};
inline Generation::Impl& impl_of(Generation& generation) {
  return GenerationAccess::impl(generation);
}

// How many pending tokens the sequence has room for.
inline std::size_t n_fitting(const Generation::Impl& text) {
  const auto context = static_cast<std::size_t>(text.session.options().context);
  return std::min(text.tokens.size(), context) - text.n_fed;
}
// Whether the text ends when the context is full.
inline bool ends_with_context(const Generation::Impl& text) {
  return !goes_on(text.session, text.options.context_end, static_cast<std::int64_t>(text.n_prompt));
}
// Whether the sequence is full, the next step needs room in it, and tokens can be dropped.
bool needs_drop(const Generation::Impl& text);
// Drops tokens if the sequence is full and the next step needs room in it.
void drop_old_tokens(Generation::Impl& text);
// Drops tokens of a text that has ended. Returns false if none can be.
bool drop_held_tokens(Generation::Impl& text);

// Does a part of what the rules of a generation need before it can choose its next token, about so
// many steps (TextRules::prepare()). Returns whether nothing is left. Generations whose rules are
// copies share the work. Throws BudgetError.
bool prepare_rules(Generation& generation, std::uint64_t steps);
bool rules_are_ready(Generation& generation);  // prepare_rules() has nothing left to do

}  // namespace serve

}  // namespace weft
