#pragma once
// Many texts from one session at the same time. Requests wait in a queue for a slot; a slot is a
// sequence of the session. Each step of the session computes the next token of every running text
// and a bounded part of the prompts, so that no text waits for the whole prompt of another. Each
// text has the same bits as if it ran alone.
//
//   weft::Engine engine(model, {.slots = 4});
//   auto id = engine.submit({.prompt = tokens, .generation = {.max_tokens = 100}}, listener);
//   engine.cancel(id);
//
// Threads: one thread of the engine owns the session, computes, and calls the listeners. All
// functions may be called from any thread, except those of `Engine` that wait (they say so) from a
// listener.

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/clock.h"
#include "weft/base/error.h"
#include "weft/run/memory_plan.h"
#include "weft/run/session.h"
#include "weft/scheduler/memory_room.h"
#include "weft/scheduler/profiler.h"
#include "weft/serve/embeddings.h"
#include "weft/serve/generation.h"
#include "weft/serve/speculation.h"

namespace weft {

// Too many requests wait.
class QueueFullError : public Error {
  using Error::Error;
};

// A slot holds a text of another owner.
class SlotOwnerError : public Error {
  using Error::Error;
};

// Snapshots of texts in a folder, from which later engines continue them, too.
struct SnapshotOptions {
  std::string folder;  // made if it is missing; empty: there are none
  // All snapshots in it together, of whatever model, have at most so many. Those used longest ago
  // make room for new ones.
  std::int64_t max_bytes = std::int64_t{8} << 30;
  // Called with a line about each fault of the folder or of a file; from any thread.
  std::function<void(const std::string& what)> warn = {};
};

// What has happened to snapshots since the start. Counters never fall.
struct SnapshotCounters {
  std::uint64_t tokens_read = 0, bytes_read = 0;       // put into sequences
  double seconds = 0;                                  // of searching, reading and restoring
  std::uint64_t written = 0, removed = 0, failed = 0;  // files; failed: to be written
  std::uint64_t slower = 0;  // prompts that were computed because reading takes longer

  SnapshotCounters& operator+=(const SnapshotCounters& more);
};

// What an engine gives up while the control group or the machine is short of memory: each level
// also what those before it do.
enum class MemoryLevel : std::uint8_t {
  enough,
  evicting,  // texts that ended
  narrow,    // steps of prompts have few tokens
  refusing,  // new requests
};
std::string_view to_string(MemoryLevel level);  // "enough", "evicts texts that ended", ..

struct MemoryGuardOptions {
  bool on = false;
  std::function<MemoryRoom()> room = {};  // for tests; null: memory_room()
  // Called with a line about each change of the level; on the engine's thread.
  std::function<void(const std::string& what)> warn = {};
};

// What server_options() reserves for requests, which take it from the ledger of the process: as
// much as about 8 long ones at once need.
inline constexpr std::int64_t kRequestBytes = std::int64_t{12} << 20;

struct EngineOptions {
  std::int32_t slots = 4;         // texts computed at the same time
  std::int32_t max_waiting = 64;  // requests in the queue; 0: none waits
  // session.sequences and logits_rows are set by the engine. session.context is what one text may
  // have; session.mem_budget is for everything (MemoryDemand).
  SessionOptions session = {};
  MemoryConcessions may_give_up = {};  // by default no slots and no contexts
  std::int64_t used_bytes = 0;         // MemoryDemand::used
  std::int64_t request_bytes = 0;      // MemoryDemand::requests
  // Tokens of prompts in one step while texts are generated; 0: chosen by the engine.
  std::int64_t prompt_tokens_per_step = 0;
  // For prompts kept beside the slots. 0: none. -1: a share of what the budget leaves.
  std::int64_t kept_prompts_bytes = -1;
  // Compute two short steps before the first request, which then pays neither for compiling plans
  // nor for pages of weights that were never touched. Not for models with an encoder.
  bool warm_up = false;
  // Drafts for every text. Several texts check theirs in one step.
  SpeculationOptions speculation = {};
  SnapshotOptions snapshots = {};
  MemoryGuardOptions memory_guard = {};
  // What Engine::prepare() may take of the time that the engine computes, all told. 0: it does
  // nothing.
  double prepare_share = 0;
};

// What a server asks for. `session` is that of a program: its context is of all slots together; 0:
// each slot has the model's. Slots that were not given in number may be fewer, contexts that were
// not given shorter, down to 2048 tokens.
EngineOptions server_options(const Model& model, SessionOptions session, std::int32_t slots,
                             bool slots_given);

// The memory that an engine with these options asks for. Throws ValueError for options that it does
// not accept.
MemoryDemand engine_demand(const Model& model, const EngineOptions& options);
// What an engine with these options gets: plan_memory() of that; of a model that only gives
// embeddings, the plan of its first embedder. Throws like both.
MemoryOffer plan_engine(const Model& model, const EngineOptions& options);

// A step of the session in which watched requests took part, maybe beside others.
struct WatchedStep {
  const Session& session;
  const Profiler& profiler;       // has the calls of this step alone
  std::int64_t n_tokens;          // tokens of all requests
  std::int64_t n_watched;         // tokens of the watcher's requests
  std::int64_t depth;             // tokens that precede those of the step, mean of all requests
  std::int64_t begin_ns, end_ns;  // on the profiler's clock
};

// Called on the engine's thread after each completed step; must not block or throw. `step` is valid
// during the call. The steps of encoders are not watched.
class StepWatcher {
 public:
  virtual ~StepWatcher() = default;
  virtual void on_step(const WatchedStep& step) = 0;
};

struct TextRequest {
  std::vector<TokenId> prompt;
  // `choose`, `feed_last`, `draft` and `cancel` must not be set. Text i of several draws from seed
  // + i.
  GenerationOptions generation = {};
  std::int32_t texts = 1;  // continuations of the prompt, which is computed once
  // The prompt may continue from what slots and kept prompts hold, and other requests from this
  // one. false: neither.
  bool reuse = true;
  // Whose texts these are. Requests of other owners never continue from them, and never learn what
  // they hold; neither do look-ups of drafts.
  std::string owner = {};
  // The client expects to send this prompt or one that goes on from it: it is kept as if that had
  // happened once.
  bool likely_again = false;
  // Numbers of tokens of the prompt after which other prompts may go on differently, as after a
  // message. The model's memory can then continue from there, as long as there is room for that.
  std::vector<std::int64_t> marks = {};
  // Parts of the prompt that are held at other positions may be taken, and are then not computed
  // exactly (weft/run/moved_tokens.h). Not with `slot` or `prompt_logprobs`.
  struct Moved {
    std::int64_t min_tokens = 0;   // a part has at least so many, and 16. 0: none is taken
    double repeated_share = 0.15;  // the tokens that are computed again: those that change most
  };
  Moved moved = {};
  std::int32_t slot = -1;        // wait for this slot and continue from it alone; -1: any
  bool prompt_logprobs = false;  // report logprobs of the prompt's tokens, too
  int priority = 0;              // higher ones leave the queue first; equal ones in order
  std::optional<Clock::time_point> deadline = {};  // cancelled then, queued or running
  // The steps of the request are profiled for it. Several requests may have the same watcher.
  std::shared_ptr<StepWatcher> watcher = {};
};

struct PromptDone {
  std::int32_t slot;
  std::int64_t n_prompt, n_reused;  // n_reused: tokens that were not computed
  double seconds_waiting, seconds;  // in the queue; computing the prompt
  std::string why_not_reused;       // "" if everything but the last token was reused
  // The tokens that it has in common with the held text that is most like it, which it may share,
  // and some that this text has instead of the next ones.
  std::int64_t n_same = 0;
  std::vector<TokenId> held_instead = {};
  std::int64_t n_moved = 0;             // those of n_reused that came from other positions
  std::vector<TokenLogprobs> logprobs;  // tokens 1.. of the prompt, if requested
};

struct TextEnd {
  StopReason reason;
  std::string stop_string;                  // the one that was reached, if reason is stop_string
  std::int64_t n_new;                       // tokens
  double seconds;                           // from the first token's step to the last one's
  std::int64_t n_drafted = 0, n_right = 0;  // guesses that steps checked; those that were right
  // Tokens that it and its prompt lost at the end of the context: above 0, it is not exact.
  std::int64_t n_dropped = 0;
};

// Called on the engine's thread, in order; must not block or throw. After on_end() of every text,
// or on_error(), there are no more calls, and the engine releases the listener.
class TextListener {
 public:
  virtual ~TextListener() = default;
  virtual void on_prompt_progress(std::int64_t done, std::int64_t total) = 0;
  virtual void on_prompt(const PromptDone& prompt) = 0;
  // Each of the TextEnd::n_new tokens, with the text that can be shown now. `event.stop` is
  // StopReason::none.
  virtual void on_token(std::int32_t text, const GenerationEvent& event) = 0;
  // `event.text` may hold the last piece of the text. `event.token` is kNoToken, or the token that
  // ended the text (StopReason::end_of_text).
  virtual void on_end(std::int32_t text, const GenerationEvent& event, const TextEnd& end) = 0;
  // The request failed: nothing follows.
  virtual void on_error(std::exception_ptr error) = 0;
};

using RequestId = std::uint64_t;

struct SlotState {
  std::int32_t slot;
  bool busy;
  RequestId request;             // 0: none so far
  std::int64_t n_held;           // tokens in its memory
  std::int64_t n_prompt, n_new;  // tokens of the current text
  std::string why_not_reused;    // about the last prompt
  std::string owner;             // TextRequest::owner of all of this

  // What an owner may learn: of the texts of others, how many tokens they have.
  SlotState seen_by(std::string_view viewer) const;
};

// What has happened since the start. Counters never fall.
struct EngineCounters {
  std::uint64_t requests = 0, cancelled = 0, failed = 0;
  std::uint64_t prompt_tokens = 0;                              // that were computed
  std::uint64_t prompts_continued = 0, prompts_from_start = 0;  // prompts that reuse may help
  std::uint64_t evicted_tokens = 0;                             // of kept texts, because of others
  std::uint64_t memory_levels = 0;                              // how often the level changed
  std::uint64_t prompt_tokens_reused = 0, new_tokens = 0, steps = 0;
  std::uint64_t prompt_tokens_moved = 0;  // those of prompt_tokens_reused from other positions
  double prompt_seconds = 0, new_seconds = 0;
  std::uint64_t prepared_tokens = 0;  // computed by Engine::prepare(), and not counted above
  double prepared_seconds = 0;
  std::uint64_t drafted = 0, drafted_right = 0;  // guesses, as in TextEnd
  // Estimated: seconds of texts with drafts, and what they would have taken without.
  double drafting_seconds = 0, seconds_without_drafts = 0;
  // Streamed weights: what was read from disk, the experts that steps needed, by whether they were
  // in memory, and what all lanes together waited.
  std::uint64_t weight_bytes_read = 0, experts_in_memory = 0, experts_missing = 0;
  double weight_wait_seconds = 0;
  std::uint64_t tokens_dropped = 0;  // at the end of contexts, as in TextEnd
  SnapshotCounters snapshots;

  EngineCounters& operator+=(const EngineCounters& more);
};
struct EngineState {
  EngineCounters counters;
  std::vector<SlotState> slots;
  // Texts in memory, running ones included; their tokens, each prefix once; what these take.
  std::int64_t held_texts = 0, held_tokens = 0, held_bytes = 0;
  MemoryLevel memory_level = MemoryLevel::enough;
  std::int64_t memory_room = 0;  // as MemoryRoom::bytes, when the level was last decided
  std::string why_refused;       // new requests are, at MemoryLevel::refusing
  // Snapshots that texts can continue from.
  std::int64_t snapshot_files = 0, snapshot_bytes = 0;
  std::int64_t allocated_bytes = 0;  // Session::allocated_bytes(), without embedders and drafts
  std::int64_t n_waiting = 0;
  std::int64_t n_running = 0;
};

// What an engine keeps of texts, while its model is not loaded: those that are worth most.
struct LeftTexts {
  struct Text {
    std::string owner;             // TextRequest::owner
    std::vector<std::byte> saved;  // as save_sequence() writes it
  };
  std::vector<Text> texts;

  std::int64_t bytes() const;
};

class Engine {
 public:
  // Loads the weights. Throws like plan_memory() and Session.
  Engine(std::shared_ptr<const Model> model, const EngineOptions& options);
  // Cancels everything and waits for the thread: not from a listener, nor from its destructor.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Throws, before anything is computed, QueueFullError; BudgetError at MemoryLevel::refusing;
  // LedgerError if the ledger has no room; ValueError for an empty prompt, for one that is longer
  // than the context, for unknown tokens and for an unknown slot; UnsupportedError if the model is
  // not causal: then the engine only gives embeddings; and like Generation. The first events may
  // come before it returns.
  RequestId submit(TextRequest request, std::shared_ptr<TextListener> listener);
  // The texts of the request end with StopReason::cancelled, within a node of the plan. Other
  // requests keep their bits. Nothing happens if the request has ended.
  void cancel(RequestId id);
  // A prompt that may come soon. Computes it at the lowest priority, so that a text that begins
  // with it finds it, unless something else runs or waits, another one is prepared, or
  // EngineOptions::prepare_share is spent. Any request stops it within a node of the plan; what was
  // computed is kept. Of the request only what concerns its prompt counts. Throws like submit(),
  // but for QueueFullError.
  void prepare(TextRequest request);

  // Vectors of texts, computed between the steps of other texts, which keep half of their speed.
  // `options.session` is ignored. If `cancel` becomes true, the computation is aborted within a
  // node of the plan, and the future throws CancelledError; otherwise it throws like Embedder.
  // Throws QueueFullError if EngineOptions::max_waiting calls wait.
  std::future<std::vector<Embedding>> embed(std::vector<TypedTokens> texts,
                                            const EmbedderOptions& options,
                                            std::shared_ptr<std::atomic<bool>> cancel = {});

  // These act on an idle slot for an owner (TextRequest::owner). The futures throw ValueError if it
  // is busy or unknown, SlotOwnerError if it holds a text of another owner, which is not saved or
  // erased (a restored one replaces it), and like save_sequence(). Texts pause while a file is
  // written, while one is copied into the slot, and before the first of these while the weights are
  // read (Identity::contents); restore_slot() maps and checks it beforehand, on the caller's
  // thread, and throws like SavedSequence::open().
  struct SlotFile {
    std::int64_t n_tokens, n_bytes;
  };
  // `make_room` is called on the engine's thread right before the file is written; if it throws,
  // nothing is, and the future throws the same.
  std::future<SlotFile> save_slot(std::int32_t slot, std::string path, std::string owner = {},
                                  std::function<void()> make_room = {});
  std::future<SlotFile> restore_slot(std::int32_t slot, const std::string& path,
                                     std::string owner = {});
  // Returns the tokens that it held.
  std::future<std::int64_t> erase_slot(std::int32_t slot, std::string owner = {});
  // All that is kept, as far as an eighth of the budget has room for it, for an engine of the same
  // model that is opened later; what that cannot continue from is left out. Nothing if
  // EngineOptions::snapshots are used: it finds those.
  std::future<LeftTexts> leave_texts();
  std::future<void> take_texts(LeftTexts texts);
  // Scales of LoRAs for requests that name none.
  void set_lora_scales(std::vector<float> scales);

  EngineState state() const;
  const Model& model() const;
  // Facts of its session, fixed at the start.
  std::int64_t context() const;  // tokens that one text may have, with its prompt
  std::int32_t n_slots() const;
  const MemoryUse& memory() const;
  const std::vector<std::string>& concessions() const;  // MemoryOffer::concessions
  // Why the model takes no parts of prompts from other positions (TextRequest::moved): "the model
  // has recurrent states"; "": it does.
  const std::string& why_not_moved() const;
  // Throws like check_context_end() of its session.
  void check(const ContextEndOptions& options) const;
  // With the concessions to the budget and the sequences of kept prompts. If the model is not
  // causal, the options of the session of embeddings.
  const SessionOptions& session_options() const;

  // Waits until nothing runs and nothing waits, or until the time is over. New requests are still
  // taken. Returns whether it is idle.
  bool wait_idle(Clock::time_point until);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
