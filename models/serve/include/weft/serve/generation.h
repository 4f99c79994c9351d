#pragma once
// One text that a model writes: a prompt goes in, events with tokens and text come out. Session,
// sampler, grammar, stop strings, token healing and half characters are kept in step here.
//
//   weft::Session session(model, {});
//   weft::Generation generation(session, 0, {.max_tokens = 100});
//   generation.begin("Once upon a time");
//   while (!generation.ended()) std::cout << generation.next().text << std::flush;
//
// Ownership: a generation refers to its session, which must outlive it, and owns the contents of
// one sequence: nobody else feeds or truncates that sequence. Threads: all generations of a session
// belong to one thread at a time; cancel() may come from any thread.

#include <atomic>
#include <cstdint>
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
#include "weft/serve/text_rules.h"

namespace weft {

struct GenerationOptions {
  SamplerOptions sampler = {};
  // Chooses in place of the sampler, from logits [V] in which forbidden tokens are -inf.
  std::function<TokenId(std::span<const float> logits)> choose = {};
  TextRulesOptions rules = {};
  std::int64_t max_tokens = -1;  // new tokens; -1: until the text or the context ends
  bool ignore_eos = false;       // no token that ends the text is chosen
  // The prompt's last token is taken off, and the first new one begins with its text, which is not
  // shown again (weft/tokenize/token_healing.h).
  bool token_healing = false;
  int logprobs = -1;  // how many of the likeliest tokens come with each token; -1: no logprobs
  DecodeOptions decode = {};
  // Which control tokens appear as their text. Empty: what `decode` says.
  std::function<bool(TokenId)> shows_control = {};
  // All of the text is to be in the sequence in the end (feed_last()), because another text
  // follows: it ends before a token that would not fit into the context.
  bool feed_last = false;
  // The flag of cancel(). Generations may share one; it must outlive them. Null: one of its own.
  std::atomic<bool>* cancel = nullptr;
};

enum class StopReason : std::uint8_t {
  none,          // the text goes on
  end_of_text,   // the model chose a token that ends it
  stop_string,   // it came to a stop string
  complete,      // the grammar allows nothing more
  max_tokens,    // it has as many tokens as it may have
  context_full,  // its next token would not fit into the context
  cancelled,
};

struct GenerationEvent {
  // The new token; kNoToken if the text ended without one. With `end_of_text` it is the token that
  // ended it, which is not part of the text.
  TokenId token = kNoToken;
  // What can be shown now, in whole characters. Valid until the next call of the generation.
  std::string_view text = {};
  StopReason stop = StopReason::none;
  const TokenLogprobs* logprobs = nullptr;  // of the token, if asked for. Valid like `text`
};

// What the sampler does when a text begins.
enum class Draws : std::uint8_t {
  restart,  // random numbers begin again at the seed; it sees the whole prompt
  go_on,    // it keeps its history and sees only tokens that the sequence did not have: the next
            // turn of a conversation
};

class Generation {
 public:
  // Throws ValueError for a sequence that the session does not have, and like Sampler and
  // TextRules.
  Generation(Session& session, std::int32_t sequence, const GenerationOptions& options = {});
  ~Generation();
  Generation(Generation&&) noexcept;
  Generation& operator=(Generation&&) noexcept;

  // Begins a text behind a prompt, whatever was written before. What the sequence holds of its
  // beginning is used again; the rest is computed by prefill() or the first next(). Throws
  // ValueError for an empty prompt and one that is longer than the context: nothing changes then.
  void begin(std::span<const TokenId> prompt, Draws draws = Draws::restart);
  // The same for encode_prompt() of a text (weft/serve/prompt.h). Throws UnsupportedError if the
  // model has no tokenizer.
  void begin(std::string_view prompt);
  // For begin() from now on. Throws like Sampler.
  void set_sampler(const SamplerOptions& options);

  // Computes what is missing of the prompt; then next() has nothing to wait for. False if
  // cancelled: the sequence then keeps the chunks that were done. Throws like Session::feed().
  bool prefill(const std::function<void(std::int64_t done, std::int64_t total)>& progress = {});

  // The next token with its text, or the end. Computes what is needed: tokens that the grammar
  // leaves no choice about come one by one, but are computed in one step. Once the text has ended,
  // every call gives the reason again. Throws like Session::feed(), TextRules::restrict() and
  // Sampler::sample(). REQUIRES: begin() was called.
  GenerationEvent next();
  bool ended() const;
  // Feeds what was chosen last and nothing needed so far. False if cancelled. Throws like
  // Session::feed().
  bool feed_last();

  // The text that is being written ends before its next token; a computation is broken off. From
  // any thread. begin() clears the flag, unless it is GenerationOptions::cancel.
  void cancel();

  // A generation that goes on from here in another sequence with what this one knows: rules, text
  // that was held back, the sampler's history and state. Its draws are those that this one would
  // make, or begin at `seed`. Throws ValueError for its own sequence, and like Session::copy().
  Generation fork(std::int32_t to_sequence, std::optional<std::uint64_t> seed = {}) const;

  // The prompt (after token healing) and the new tokens, chosen ones that are not fed included.
  std::span<const TokenId> tokens() const;
  std::int64_t n_prompt() const;          // tokens of them that are the prompt's
  std::int64_t n_new() const;             // tokens that came in events
  std::int64_t n_reused() const;          // tokens of the prompt that were in the sequence
  std::span<const TokenId> held() const;  // what the sequence holds
  Session& session() const;
  std::int32_t sequence() const;

  // Writes what the sequence holds to a file. Throws like save_sequence().
  void save(const std::string& path, std::string_view note = {}) const;
  // The sequence holds the first `n_tokens` of a file from now on; begin() goes on from them.
  // Throws FormatError for tokens that the vocabulary does not have, and like
  // SavedSequence::restore().
  void restore(const SavedSequence& saved, std::int64_t n_tokens);

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  explicit Generation(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Several generations of one session, a token for each at a time, in common steps. Each gets the
// same bits as alone.
class Batch {
 public:
  explicit Batch(Session& session);

  struct Event {
    Generation* generation = nullptr;
    GenerationEvent event;
  };
  // Gives the events that need no computation, if there are any; otherwise takes one step of the
  // session. Those with many tokens to feed (a prompt) and those for which the step has no room get
  // their turn in later steps, so a call gives an event for some generations, possibly for none.
  // Ended ones are left out. Valid until the next call. Throws ValueError for generations of
  // another session and two of the same sequence, and like Session::step(): no token of the step
  // counts then. `cancel` breaks the step off, without events; a generation that is cancelled by
  // itself ends before its next step.
  std::span<const Event> step(std::span<Generation* const> generations,
                              const std::atomic<bool>* cancel = nullptr);

 private:
  struct Part {
    Generation* generation;
    std::size_t n_tokens;
    bool has_row;  // all that it waits for is in this step
  };
  void add_parts(std::span<Generation* const> generations, bool prompts);

  Session& session_;
  std::size_t turn_ = 0;  // who goes first
  std::vector<Event> events_;
  std::vector<Part> parts_;
  std::vector<StepToken> tokens_;
  std::int64_t n_rows_ = 0;
};

}  // namespace weft
