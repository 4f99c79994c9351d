#pragma once
// One or several sequences computed by a model: plans per width class, the sequences' memory, the
// activation arena and the workers. All memory is accounted for before it is allocated. One thread
// at a time per session.
//
//   auto model = weft::Model::load("stories.gguf");
//   weft::Session session(model, {.context = 512});
//   session.feed(0, model->tokenizer().encode("Once upon a time"));
//   int next = argmax(session.logits());

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/arch/graph_part.h"
#include "weft/arch/memory.h"
#include "weft/files/file_reads.h"
#include "weft/run/model.h"
#include "weft/run/residency.h"
#include "weft/scheduler/budget.h"
#include "weft/scheduler/executor.h"
#include "weft/scheduler/plan.h"
#include "weft/scheduler/routing.h"

namespace weft {

inline constexpr std::int64_t kMaxPrefillWidth = 8192;

// Where steps read weights from.
enum class WeightMode : std::uint8_t {
  automatic,  // resident if that is faster and fits the budget, else mapped
  mapped,     // the file's pages, unchanged: the system may evict and reload them
  resident,   // private memory on huge pages, in the layout that is best for the backend; sessions
              // of a model share it. Tables that steps read only some rows of stay mapped
  streamed,   // read from disk while steps run, as far as the budget has no room for them: layers
              // in a ring, experts in a cache (residency.h)
};
std::string_view to_string(WeightMode mode);  // "auto", "mapped", "resident", "streamed"
std::span<const WeightMode> all_weight_modes();
std::optional<WeightMode> find_weight_mode(std::string_view name);

// What a process takes beside the memory of its sessions: MemoryUse::program.
enum class ProgramMemory : std::uint8_t {
  none,     // not counted: the caller knows its process
  model,    // vocabulary, graphs and plans, as for one model of several
  process,  // those and kProcessBytes. Weft's programs count it
};
// The process itself: code and libraries as far as they are used, threads, the heap before a model
// is loaded.
inline constexpr std::int64_t kProcessBytes = std::int64_t{16} << 20;

struct SessionOptions {
  std::int64_t context = 0;    // cells per sequence; 0: min(the model's context, 4096)
  std::int32_t sequences = 1;  // each has its own memory
  // Cells of all sequences together, which share them in blocks. 0: enough for all of them. With
  // fewer, tokens that do not fit are refused when they are fed (BudgetError).
  std::int64_t cells = 0;
  // Further sequences, numbered behind those, which only keep what is copied to them. Room for
  // kept_tokens more tokens is shared by all: cells, windows and checkpoints of recurrent states.
  // 0: none. Models with an encoder keep none.
  std::int32_t kept = 0;
  std::int64_t kept_tokens = 0;
  // Tokens between those checkpoints of recurrent states that are kept as long as that room lasts;
  // rounded up to a multiple of 64.
  std::int64_t checkpoint_every = 256;
  std::int64_t prefill_width = 512;  // max tokens in one step, up to kMaxPrefillWidth; there are
                                     // also plans for narrower steps
  std::int64_t logits_rows = 0;  // max rows of logits in one step; 0: max(sequences, 16), at most
                                 // prefill_width. The arena has room for that many
  int workers = 0;               // 0: default_workers()
  std::optional<ReplayKind> executor;  // for plans with several lanes: crew or flow; default: the
                                       // planner chooses for each plan
  std::string backend = "cpu";
  std::string route;  // rules of Routes (scheduler/routing.h): "blk.3.ffn_*=reference,*=cpu"
  // If set, replaces `backend` and `route` (for tests and bisection). Outlives the session.
  const Backend* backend_instance = nullptr;
  // Any of cache_types() (ops/attention/cache_cells.h). None: F16 for both, or Q8_0 if the budget
  // requires it even with mapped weights.
  DType cache_k, cache_v;
  WeightMode weights = WeightMode::automatic;
  // How streamed weights are read; empty: open_file_reads() (files/file_reads.h). For tests.
  OpenFileReads open_reads;
  // File with the usage of experts, if they are cached (WeightMode::streamed): the session begins
  // by reading those that were chosen most in earlier ones, and updates the file when it ends. It
  // costs time only if it cannot be used. Empty: none; "auto": the path of the model with
  // ".experts", if it can be written.
  std::string expert_usage;
  // Folder of files with packed weights, which are then mapped or streamed from there instead of
  // packed at every start; made if it is missing. Streamed weights are as in the model's files if
  // the folder has no room. Empty: none.
  std::string weight_cache;
  // Weights are replaced by samples of them: steps take the time that they take with all weights in
  // memory, but the session opens at once, needs some hundred MB for weights (estimates.h), and its
  // results mean nothing. For forecasts (weft/measure/forecast.h). UnsupportedError if a device has
  // weights.
  bool sample_weights = false;
  std::vector<std::string> passes_off;
  std::int64_t mem_budget = 0;  // bytes of MemoryUse::total(); 0: default_budget(). Met by
                                // concessions, or refused with the numbers (BudgetError)
  // What mem_budget also covers; no effect without one: what the system has is what is left.
  ProgramMemory program = ProgramMemory::none;
  std::int64_t reserved = 0;      // bytes of the caller that the budget also covers, from 0 on
  bool separate_tensors = false;  // every activation has its own memory, for debugging
  bool embeddings = false;  // rows are the model's last hidden states [D] instead of logits [V];
                            // needed if it has no output matrix (UnsupportedError)
  // How many of the last tokens of a step truncate() can always remove, if the step has at most one
  // more of the sequence: guesses that were wrong. Takes memory for as many recurrent states of
  // each sequence, up to 64; without such states it is always 64.
  std::int64_t rewind = 0;
  // Steps also prepare the model's draft layer for Session::draft(). UnsupportedError if it has
  // none (ModelFacts::drafts).
  bool draft_layer = false;
  // Called with 0..1 while weights are loaded, on the thread that constructs the session; may be
  // empty. Return false to stop (CancelledError). Must not open a session of the same model.
  std::function<bool(double)> progress;
  // Cancels loading and every step as soon as it is true, unless the call has a flag of its own;
  // for those that open sessions for others. May be null; outlives the session.
  const std::atomic<bool>* cancel = nullptr;
  // Called on the thread of the call while steps are computed, about every 50 ms: between nodes,
  // and while the thread waits for the disk. May be empty. Return false to stop (CancelledError).
  std::function<bool()> poll;
  // Called with a line about something that only costs time: a weight cache or a usage of experts
  // that cannot be used. On the thread that constructs or destroys the session; may be empty.
  std::function<void(const std::string&)> warn;
};

// One token of a step.
struct StepToken {
  std::int32_t token = 0;
  std::int32_t sequence = 0;
  bool logits = false;    // request a row of logits
  std::int32_t type = 0;  // below ModelFacts::token_types
};

// What is saved of a sequence for a state: its size, and the numbers of tokens, in ascending order,
// after which the sequence had its parts: earlier states of recurrent layers, and the current one.
// Other states have no such numbers.
struct SavedShape {
  std::int64_t n_bytes = 0;
  std::vector<std::int64_t> lengths;
  // The state is saved in rows. Those without such numbers have a part of the tokens each, and
  // `first_row` of them are left out.
  std::int64_t row_bytes = 0, tokens_per_row = 0, first_row = 0;
};
// The same when it was read. The bytes, one or more rows in each piece, belong to whoever read
// them.
struct SavedState {
  std::vector<std::span<const std::byte>> pieces;
  std::vector<std::int64_t> lengths = {};

  std::int64_t n_bytes() const {
    std::int64_t n = 0;
    for (const auto piece : pieces) n += std::ssize(piece);
    return n;
  }
};

struct PlannedModel;
struct SessionAccess;

// The first SessionOptions::sequences sequences grow by steps. The others, the kept ones, are for
// copy(), truncate() and questions alone, and for kept_texts.h; all else throws ValueError.
class Session {
 public:
  Session(std::shared_ptr<const Model> model, const SessionOptions& options);
  // With the plan that plan_model() or plan_memory() made for this model.
  Session(PlannedModel planned, std::shared_ptr<const Model> model);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Appends tokens to a sequence, in chunks of at most prefill_width, and keeps the logits of the
  // last one. Throws before computing anything: ValueError for ids outside the vocabulary, for an
  // unknown sequence, or if the context would overflow; BudgetError if there are not enough shared
  // cells. Throws CancelledError if `cancel` became true, and IoError if a file that weights are
  // mapped from was overwritten, or truncated (found if install_mapping_guard() was called): the
  // sequence then ends after the last complete chunk.
  void feed(std::int32_t sequence, std::span<const std::int32_t> tokens,
            const std::atomic<bool>* cancel = nullptr,
            const std::function<void(std::int64_t done, std::int64_t total)>& progress = {});

  // One step of at most prefill_width tokens of any sequences. At most logits_rows of them may
  // request logits. Returns those rows [n, V], in order; valid until the next call. Throws like
  // feed(), and NanError if logits are NaN; after an exception the sequences are unchanged.
  std::span<const float> step(std::span<const StepToken> tokens,
                              const std::atomic<bool>* cancel = nullptr,
                              NodeObserver* observer = nullptr);

  // For models of an encoder and a decoder (ModelFacts::encodes): the encoder reads a text of at
  // most prefill_width tokens, which the tokens of the sequence then attend to. Removes all tokens
  // of the sequence, but truncate() keeps its text, and copy() copies it. A sequence needs a text
  // before it can have tokens. Throws UnsupportedError if the model has no encoder, and like
  // feed(); after an exception the sequence has neither tokens nor a text.
  void encode(std::int32_t sequence, std::span<const std::int32_t> text,
              const std::atomic<bool>* cancel = nullptr, NodeObserver* observer = nullptr);
  // The tokens of its text; empty: it has none. Valid until the sequence changes.
  std::span<const std::int32_t> text(std::int32_t sequence) const;

  // Drafts with the model's own layer for multi-token prediction, or with a head
  // (SessionOptions::draft_layer), which reads what the model made of the tokens of the sequence.
  // `token` follows the tokens of the sequence, or, if `after_guesses`, the tokens of the last
  // calls for it, in which case no step has come between. Returns the logits of the token after it,
  // [V] or one for each of Model::draft_ids(), valid until the next call; empty if the layer does
  // not know the last token of the sequence. Changes nothing that steps read. Throws like step();
  // drafts then begin anew.
  std::span<const float> draft(std::int32_t sequence, std::int32_t token, bool after_guesses,
                               const std::atomic<bool>* cancel = nullptr);

  // [V]: the last row of logits of the last step; valid until the next one. Throws ValueError if
  // that step requested none or failed, or if there was none.
  std::span<const float> logits() const;
  std::int64_t length(std::int32_t sequence) const;  // tokens in its memory
  // Their ids, of which only the session keeps a copy; -1 for those of fill_with_noise(). Valid
  // until the sequence changes. Throws ValueError for a kept sequence.
  std::span<const std::int32_t> tokens(std::int32_t sequence) const;
  // How many of them, from the first one on, are the same as in `ids`, if the first `from` are
  // known to be; `from` beyond the sequence counts as its length.
  std::int64_t common_prefix(std::int32_t sequence, std::span<const std::int32_t> ids,
                             std::int64_t from = 0) const;
  // The positions that blocks hold that no sequence uses; the max of the type if there are always
  // enough.
  std::int64_t free_positions() const;
  // Removes all tokens from position `length` on. Throws ValueError if the sequence is shorter,
  // UnsupportedError if `length` is not a resume point.
  void truncate(std::int32_t sequence, std::int64_t length);
  // Makes the sequence as in a new session: truncate(.., 0), and also without a text of encode()
  // and with the scales of LoRAs that the model was loaded with.
  void clear(std::int32_t sequence);
  // The largest length up to `length` from which the sequence can continue after truncate(). This
  // is `length` itself, except for models with windows or recurrent states, which keep only the
  // last tokens and some checkpoints (weft/arch/memory.h). To continue from another length, feed
  // the tokens after the resume point again, or make a copy() beforehand. Throws ValueError like
  // truncate().
  std::int64_t resume_point(std::int32_t sequence, std::int64_t length) const;
  // Replaces sequence `to` by the first `length` tokens of `from`. It continues with the same bits
  // as `from` would. The two share memory until one of them writes to it (copy on write). Does not
  // allocate, except for kept sequences. Throws like truncate() of `from`; `to` is then unchanged.
  void copy(std::int32_t from, std::int32_t to, std::int64_t length);

  // The scale of each LoRA of the model (Model::adapters) for the tokens that are fed to this
  // sequence from now on; 0: off. At first those that the model was loaded with. Tokens that the
  // sequence already has stay as they were computed: truncate(.., 0) to compute them again, or call
  // encode() again if the model has an encoder. copy() also copies the scales. Other sequences keep
  // their bits. Throws ValueError for another number of scales and for one that is not finite.
  void set_lora_scales(std::int32_t sequence, std::span<const float> scales);
  std::span<const float> lora_scales(std::int32_t sequence) const;
  // Whether the sequence may hold tokens that were computed with other scales than lora_scales():
  // they were changed while it held some. Until it is emptied, restored or replaced by a copy() of
  // another one. It cannot be saved to a file (save_sequence).
  bool mixes_lora_scales(std::int32_t sequence) const;

  // Why the sequence cannot be saved (save_sequence() of saved_sequence.h); "": it can be.
  std::string why_not_saved(std::int32_t sequence) const;
  // For measurements: replaces the sequence by `length` tokens with pseudo-random memory. Throws
  // like restore().
  void fill_with_noise(std::int32_t sequence, std::int64_t length);

  const Model& model() const;
  const SessionOptions& options() const;  // as resolved, without zeros and automatic choices
  const MemoryUse& memory() const;        // predicted = allocated
  const Residency& residency() const;     // of streamed weights
  StreamStats stream_stats() const;       // likewise; any thread
  std::int64_t allocated_bytes() const;   // counted at the allocations, including shared weights
  std::int64_t allocated_on_devices() const;
  // The concessions made to meet the budget. If the type of the cache was reduced, that comes
  // first.
  const std::vector<std::string>& concessions() const;

  // Plans and graphs by width class, narrowest first; index 0 is decode. Those from n_step_plans()
  // on belong to the encoder, or to the draft layer.
  std::size_t n_plans() const;
  std::size_t n_step_plans() const;
  const Plan& plan(std::size_t i) const;
  const Graph& graph(std::size_t i) const;
  // The plan of that part that computes n_tokens tokens at once. REQUIRES: there is one.
  std::size_t plan_for(std::int64_t n_tokens, arch::GraphPart part = arch::GraphPart::steps) const;

 private:
  friend struct SessionAccess;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The routes that the options ask for. Throws ValueError for unknown names and malformed rules.
Routes routes_of(const SessionOptions& options);

// The plans of a session, made without loading weights or allocating. `weft plan` prints them.
struct PlannedModel {
  std::vector<Graph> graphs;
  std::vector<Assignment> assignments;  // by graph
  std::vector<Plan> plans;
  // Behind them come the plans of the encoder or of the draft layer, also narrowest first.
  std::size_t n_step_plans = 0;
  std::vector<arch::MemoryPart> memory_parts;  // the parts that the graphs' states form
  MemoryUse memory;
  Residency residency;  // of WeightMode::streamed
  std::vector<std::string> concessions;
  SessionOptions options;
  std::string weights_reason;  // why options.weights was chosen
  // The part of memory.weights_mapped that does not fit the default budget: the system has to evict
  // that many bytes from time to time. 0 if a budget was given.
  std::int64_t evicted_bytes = 0;

  // The indices of the plans of that part: first to last - 1, narrowest first. Both are the same if
  // there are none.
  std::pair<std::size_t, std::size_t> plans_of(arch::GraphPart part) const;
  // The narrowest plan of that part for so many tokens. REQUIRES: there is one.
  std::size_t plan_for(std::int64_t n_tokens, arch::GraphPart part = arch::GraphPart::steps) const;
};
PlannedModel plan_model(const Model& model, const SessionOptions& options);

}  // namespace weft
