#pragma once
// Generates one text: takes a prompt, and emits events with tokens and text. Keeps session,
// sampler, grammar, stop strings, token healing and incomplete characters in sync.
//
//   weft::Session session(model, {});
//   weft::Generation generation(session, 0, {.max_tokens = 100});
//   generation.begin("Once upon a time");
//   while (!generation.ended()) std::cout << generation.next().text << std::flush;
//
// Ownership: a generation refers to its session, which must outlive it. It owns the contents of one
// sequence: nothing else may feed or truncate that sequence. Threads: only one thread at a time may
// use the generations of a session, except for cancel(), which may be called from any thread.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/run/saved_sequence.h"
#include "weft/run/session.h"
#include "weft/sample/logprobs.h"
#include "weft/sample/sampler.h"
#include "weft/serve/context_end.h"
#include "weft/serve/draft.h"
#include "weft/serve/text_rules.h"

namespace weft {

namespace serve {
struct GenerationAccess;
}

struct GenerationOptions {
  SamplerOptions sampler = {};
  // Chooses tokens instead of the sampler, from logits [V], in which forbidden tokens are -inf.
  // `tokens`: the prompt and the text so far.
  std::function<TokenId(std::span<const float> logits, std::span<const TokenId> tokens)> choose =
      {};
  TextRulesOptions rules = {};
  std::int64_t max_tokens = -1;  // new tokens; -1: until the text ends or the context is full
  // The text ends this long after its first token, as soon as it also has a line break.
  std::optional<std::chrono::milliseconds> max_time = {};
  bool ignore_eos = false;  // never choose a token of the vocabulary that ends the text
  std::vector<TokenId> stop_tokens = {};  // end the text, too, and are not part of it
  std::int64_t min_tokens = 0;            // end tokens are masked until this many new tokens
  // Removes the prompt's last token; the first new token then begins with its text, which is not
  // emitted again (weft/tokenize/token_healing.h).
  bool token_healing = false;
  // The scale of each LoRA of the model for this generation. None: those that the sequence has.
  std::optional<std::vector<float>> lora_scales = {};
  int logprobs = -1;  // how many of the most likely tokens to report per token; -1: no logprobs
  // next() and a Batch also compute Generation::prompt_logprobs(). Nothing of the prompt is reused
  // then.
  bool prompt_logprobs = false;
  DecodeOptions decode = {};
  // Which control tokens appear as text. Empty: as `decode` says.
  std::function<bool(TokenId)> shows_control = {};
  // The caller will call feed_last(), because another text follows. The text then ends before a
  // token that would not fit into the context.
  bool feed_last = false;
  // Computes the prompt even if max_tokens is 0.
  bool feed_prompt = false;
  // Guesses tokens, of which a step of next() checks up to `max_guesses`, as far as the session's
  // steps and rows of logits allow. The text is the same. Until the text ends, the sequence may
  // hold guesses behind held(): n_guessed(). Forks have no draft.
  std::shared_ptr<Draft> draft = {};
  std::size_t max_guesses = 16;
  // What the text does when the next token would not fit into the context. If it goes on, tokens()
  // and the sequence lose the tokens that are dropped: n_dropped(). A prompt has to fit.
  ContextEndOptions context_end = {};
  // The flag that cancel() sets. Generations may share one; it must outlive them. Null: its own.
  std::atomic<bool>* cancel = nullptr;
};

enum class StopReason : std::uint8_t {
  none,          // the text continues
  end_of_text,   // the model chose a token that ends it
  stop_string,   // it reached a stop string
  complete,      // the grammar allows nothing more
  max_tokens,    // it has GenerationOptions::max_tokens tokens
  max_time,      // GenerationOptions::max_time has passed
  context_full,  // the next token would not fit into the context
  cancelled,
};

// Whether a limit or a cancellation ended the text, and not the text itself.
constexpr bool is_truncated(StopReason stop) {
  return stop == StopReason::max_tokens || stop == StopReason::max_time ||
         stop == StopReason::context_full || stop == StopReason::cancelled;
}

// Returns if `model` predicts one token after the other, which Generation requires. Throws
// UnsupportedError, with the path of the model and the reason, if it only makes embeddings or is a
// diffusion language model, which Diffusion runs. Any thread may call it.
void check_generates(const Model& model);

struct GenerationEvent {
  // The new token; kNoToken if the text ended without one. With `end_of_text` it is the token that
  // ended it, which is not part of the text.
  TokenId token = kNoToken;
  // The text that can be shown now, in whole characters. Valid until the next call.
  std::string_view text = {};
  StopReason stop = StopReason::none;
  const TokenLogprobs* logprobs = nullptr;  // the token's, if requested. Valid like `text`
  // How many of the last tokens have no text that was shown: it may become a stop string, and is
  // held back, or it belongs to the one that ended the text.
  std::int64_t n_unshown = 0;
};

// The state of the sampler when a text begins.
enum class SamplerStart : std::uint8_t {
  restart,    // random numbers start at the seed; the whole prompt becomes its history
  keep_state  // keeps random numbers and history, which only new tokens of the prompt are added
              // to: the next turn of a conversation
};

class Generation {
 public:
  // Throws ValueError for a sequence that the session does not have, and like Sampler and
  // TextRules.
  Generation(Session& session, std::int32_t sequence, const GenerationOptions& options = {});
  ~Generation();
  Generation(Generation&&) noexcept;
  Generation& operator=(Generation&&) noexcept;

  // Begins a new text after a prompt. The prefix of the prompt that the sequence already holds is
  // reused; prefill() or the first next() computes the rest. Throws ValueError, and changes
  // nothing, for an empty prompt and for one that is longer than the context. The prompt of a model
  // with an encoder (ModelFacts::encodes) is the encoder's text, of at most one step; new tokens
  // then follow the model's start token, which tokens() and n_prompt() count as the prompt.
  void begin(std::span<const TokenId> prompt, SamplerStart start = SamplerStart::restart);
  // Continues the text in another sequence, or again in its own. What the sequence lacks of the
  // text is computed again: the text keeps its bits. Tokens that are not the text's, or have other
  // scales of LoRAs, are removed. The old sequence stays as it is. Throws ValueError before the
  // first begin().
  void move_to(std::int32_t sequence);
  // The same for encode_prompt() of a text (weft/serve/prompt.h). Throws UnsupportedError if the
  // model has no tokenizer.
  void begin(std::string_view prompt);
  // Sets the scales of LoRAs for the texts that begin from now on (Session::set_lora_scales). If
  // they differ from those that the sequence has, its tokens are removed and the current text ends.
  // Throws like Session::set_lora_scales(), and then changes nothing.
  void set_lora_scales(std::span<const float> scales);
  // Takes effect at the next begin(). Throws like Sampler.
  void set_sampler(const SamplerOptions& options);
  // Replaces TextRulesOptions::grammar for the texts that begin from now on. Null: any text. A
  // `tree` replaces that of the rules.
  void set_grammar(std::shared_ptr<const Grammar> grammar,
                   std::shared_ptr<const TokenTree> tree = nullptr);

  // Computes the rest of the prompt, so that next() need not. Returns false if cancelled; the
  // sequence then keeps the chunks that are complete. Throws like Session::feed().
  bool prefill(const std::function<void(std::int64_t done, std::int64_t total)>& progress = {});

  // The next token with its text, or the end: a Batch of one. Tokens that the grammar forces are
  // returned one by one, but computed in one step. Once the text has ended, every call returns the
  // reason again. Throws ValueError before the first begin(), and like Session::feed(),
  // TextRules::restrict() and Sampler::sample().
  GenerationEvent next();
  bool ended() const;
  // The one that the text reached, if it ended with StopReason::stop_string; otherwise "".
  std::string_view stop_string() const;
  // Feeds the chosen tokens that have not been fed yet. Returns false if cancelled. Throws like
  // Session::feed().
  bool feed_last();

  // Ends the current text before its next token and aborts a running computation. May be called
  // from any thread. begin() clears the flag, unless it is GenerationOptions::cancel.
  void cancel();

  // A generation that continues from here in another sequence, with the same rules, held-back text
  // and sampler state. It draws what this one would draw, or starts at `seed`. `shows_control`
  // replaces that of the options, unless it is empty. Throws ValueError for its own sequence, and
  // like Session::copy().
  Generation fork(std::int32_t to_sequence, std::optional<std::uint64_t> seed = {},
                  std::function<bool(TokenId)> shows_control = {}) const;

  // The prompt (after token healing) and the new tokens, including those that were not fed yet.
  std::span<const TokenId> tokens() const;
  std::int64_t n_prompt() const;          // tokens of the prompt
  std::int64_t n_text() const;            // tokens of the encoder's text; 0: the model has none
  std::int64_t n_new() const;             // tokens returned in events
  std::int64_t n_reused() const;          // tokens of the prompt that the sequence already held
  std::span<const TokenId> held() const;  // tokens that the sequence holds
  std::int64_t n_pending() const;         // tokens to feed before the next one can be chosen
  // Logprobs of tokens 1.. of the prompt, as far as it was computed, if requested.
  std::span<const TokenLogprobs> prompt_logprobs() const;
  Session& session() const;
  std::int32_t sequence() const;

  // Writes the sequence to a file, without the guesses of a draft: drop_guesses(). Throws
  // UnsupportedError if it has dropped tokens, and like save_sequence().
  void save(const std::string& path, std::string_view note = {});
  // Replaces the sequence by the first `n_tokens` of a file; begin() can reuse them.
  // Throws FormatError for tokens that the vocabulary does not have, and like
  // SavedSequence::restore().
  void restore(const SavedSequence& saved, std::int64_t n_tokens);

  struct Impl;

 private:
  friend struct serve::GenerationAccess;
  explicit Generation(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// How many of its tokens the text, and its prompt, have lost at the end of the context. What the
// sequence then holds is not what computing tokens() gives, and only its beginning is used for
// further texts.
std::int64_t n_dropped(const Generation& text);
// If it has, the sequence keeps only the beginning that is exact, and the text is lost.
void keep_exact(Generation& text);
// Guesses of the draft that the sequence of a text holds behind held().
std::int64_t n_guessed(Generation& text);
// The sequence loses them, also if the text goes on. Where it cannot be cut there, as some
// recurrent states cannot, it loses some of the text, too, which is computed again, and there are
// no further guesses.
void drop_guesses(Generation& text);

// Runs several generations of one session together, in common steps. Each gives the same bits as if
// it ran alone.
class Batch {
 public:
  explicit Batch(Session& session);

  struct Event {
    Generation* generation = nullptr;
    GenerationEvent event;
    // Set if its rules or its sampler threw: it has no token then, and the next step tries again.
    std::exception_ptr error = nullptr;
  };
  // Returns the events that need no computation, if there are any. Otherwise runs one step of the
  // session. Generations that must feed many tokens (a prompt), or do not fit into the step, need
  // several calls, so there may be no event for some or all of them. Generations that have ended
  // are ignored. The result is valid until the next call. Throws ValueError for a generation of
  // another session, before its begin(), and for two of the same sequence, and like
  // Session::step(); the sequences are then unchanged. `cancel` aborts the step without events; a
  // generation that was itself cancelled ends before its next step. `max_tokens` limits how many
  // tokens of each generation the step has; if it is empty, there are no limits. `observer` sees
  // the kernel calls of the session's step.
  std::span<const Event> step(std::span<Generation* const> generations,
                              const std::atomic<bool>* cancel = nullptr,
                              std::span<const std::int64_t> max_tokens = {},
                              NodeObserver* observer = nullptr);
  // Whether the last step was aborted.
  bool was_cancelled() const { return was_cancelled_; }
  // The tokens that the last call computed, without guesses of drafts; 0 if it only returned events
  // or was aborted.
  std::int64_t n_fed() const { return n_fed_; }

 private:
  struct Part {
    Generation* generation;
    std::size_t n_tokens;              // pending ones
    std::span<const TokenId> guesses;  // behind them
  };
  template <class F>
  void add_event(Generation* generation, F make);
  void add_parts(std::span<Generation* const> generations, bool prompts,
                 std::span<const std::int64_t> max_tokens);
  void add_part(Generation* generation, std::size_t max_tokens);
  void add_guesses(std::span<Generation* const> generations);
  void collect_tokens();
  void give_up_guesses(bool for_good);
  void compute(const std::atomic<bool>* cancel, NodeObserver* observer);
  void take_rows(std::span<const float> rows, DraftStep step);

  Session& session_;
  std::size_t turn_ = 0;  // who goes first
  std::vector<Event> events_;
  std::vector<Part> parts_;
  std::vector<StepToken> tokens_;
  std::int64_t n_tokens_ = 0, n_rows_ = 0, n_fed_ = 0;
  std::int64_t n_texts_ = 0, n_guesses_ = 0;  // in the step, without prompts
  bool was_cancelled_ = false;
};

}  // namespace weft
