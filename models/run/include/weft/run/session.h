#pragma once
// One or several conversations with a model: plans per width class, the sequences' memory, the
// activation arena and the workers. All memory is accounted before it is allocated. One thread at a
// time per session.
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
#include <vector>

#include "weft/arch/memory.h"
#include "weft/run/model.h"
#include "weft/scheduler/budget.h"
#include "weft/scheduler/executor.h"
#include "weft/scheduler/plan.h"
#include "weft/scheduler/routing.h"

namespace weft {

inline constexpr std::int64_t kMaxPrefillWidth = 8192;

// Where the weights are that steps read.
enum class WeightMode : std::uint8_t {
  automatic,  // resident where that is faster and fits the budget, else mapped
  mapped,     // in the file's pages, as they lie there: the system may drop and read them again
  resident,   // in memory of our own on huge pages, in the layout that the backend computes best
              // from; sessions of a model share it. Tables of which a step reads some rows stay
              // mapped
};
std::string_view to_string(WeightMode mode);  // "auto", "mapped", "resident"

struct SessionOptions {
  std::int64_t context = 0;    // cells per sequence; 0: min(the model's context, 4096)
  std::int32_t sequences = 1;  // conversations, each with a memory of its own
  // Cells of all sequences together, which they share in blocks; 0: as many as all may need. With
  // fewer, what does not fit is refused when it is fed (BudgetError).
  std::int64_t cells = 0;
  std::int64_t prefill_width = 512;  // most tokens in one step, up to kMaxPrefillWidth; narrower
                                     // width classes are made below it
  std::int64_t logits_rows = 0;  // most rows of logits in one step; 0: max(sequences, 16), at most
                                 // prefill_width. The arena has room for that many
  int workers = 0;               // 0: default_workers()
  std::optional<ReplayKind> executor;  // of plans of several lanes: crew or flow; default: the
                                       // planner's choice, plan by plan
  std::string backend = "cpu";
  std::string route;  // rules of Routes (scheduler/routing.h): "blk.3.ffn_*=reference,*=cpu"
  const Backend* engine = nullptr;  // computes in place of all that, where it is set; outlives the
                                    // session (tests, bisection)
  // Any of cache_types() (ops/cache_cells.h). None: F16 for both, or Q8_0 where nothing less keeps
  // the budget (mapped weights are less).
  DType cache_k, cache_v;
  WeightMode weights = WeightMode::automatic;
  std::vector<std::string> passes_off;
  std::int64_t mem_budget = 0;  // bytes for everything; 0: default_budget(). Kept by concessions,
                                // or refused with the numbers (BudgetError)
  bool reuse_arena = true;      // false keeps every activation apart (verify)
  bool embeddings = false;      // rows are the model's last hidden states [D] instead of logits [V]
  // Called with 0..1, on the thread that opens the session, while weights are brought into memory;
  // may be empty. Return false to stop (CancelledError). Must not open a session of the same model.
  std::function<bool(double)> progress;
};

// One token of a step.
struct StepToken {
  std::int32_t token = 0;
  std::int32_t sequence = 0;
  bool logits = false;  // wants a row of logits
};

class Session {
 public:
  Session(std::shared_ptr<const Model> model, const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Appends tokens to a sequence, in chunks of at most prefill_width, and keeps the logits of the
  // last one. Throws ValueError for ids outside the vocabulary, a sequence that does not exist, or
  // if the context would overflow, BudgetError if the cells that all sequences share do not suffice
  // (both before anything is computed); CancelledError if `cancel` became true: the sequence then
  // ends after the last whole chunk.
  void feed(std::int32_t sequence, std::span<const std::int32_t> tokens,
            const std::atomic<bool>* cancel = nullptr,
            const std::function<void(std::int64_t done, std::int64_t total)>& progress = {});

  // One step of at most prefill_width tokens of any sequences, of which at most logits_rows ask for
  // logits. Returns their rows [n, V], in order; valid until the next call. Throws like feed(), and
  // NanError where logits come out as NaN; after an exception no token of the step counts.
  std::span<const float> step(std::span<const StepToken> tokens,
                              const std::atomic<bool>* cancel = nullptr,
                              NodeObserver* observer = nullptr);

  std::span<const float> logits() const;             // [V], of the last token fed
  std::int64_t length(std::int32_t sequence) const;  // tokens in its cache
  // Forgets all tokens from `length` on. Throws ValueError for lengths that the sequence does not
  // have, UnsupportedError if it cannot go on from there: see resume_point().
  void truncate(std::int32_t sequence, std::int64_t length);
  // The largest length up to `length` from which the sequence can go on, as it is or after
  // truncate(): `length` itself, but for models with windows or recurrent states, which keep only
  // the last tokens and some checkpoints (weft/arch/memory.h). Whoever needs another one feeds
  // the tokens from there again, or keeps a copy(). Throws ValueError like truncate().
  std::int64_t resume_point(std::int32_t sequence, std::int64_t length) const;
  // From now on `to` has the first `length` tokens of `from` and goes on from them with the same
  // bits as `from` would. What they have in common lies in the same memory until one of them writes
  // there, so that nothing is copied now. Allocates nothing. Throws like truncate() of `from`; `to`
  // then is as it was.
  void copy(std::int32_t from, std::int32_t to, std::int64_t length);

  // What a sequence keeps, as bytes (saved_sequence.h has them in a file): state by state,
  // 0 .. n_states() - 1. save() hands them out piece by piece.
  std::size_t n_states() const;
  std::int64_t saved_bytes(std::int32_t sequence, std::size_t state) const;
  void save(std::int32_t sequence, std::size_t state,
            const std::function<void(std::span<const std::byte>)>& write) const;
  // From now on the sequence has the first `length` tokens of one that had `saved_length` of them
  // when its states were saved. Throws ValueError like feed(), UnsupportedError if what was saved
  // cannot go on from `length`, FormatError if it is too short, BudgetError if there is no room;
  // the sequence then is as it was.
  void restore(std::int32_t sequence, std::int64_t length, std::int64_t saved_length,
               std::span<const std::span<const std::byte>> states);
  // The largest length up to `length` that restore() can make. REQUIRES: 0 <= length <=
  // saved_length.
  std::int64_t resume_point_of_saved(std::int64_t length, std::int64_t saved_length) const;
  // For measurements: from now on the sequence has `length` tokens, whose memory is pseudo-random.
  // Throws like restore().
  void fill_with_noise(std::int32_t sequence, std::int64_t length);

  const Model& model() const;
  const SessionOptions& options() const;  // as resolved: no zeros, no automatic left
  const MemoryUse& memory() const;        // predicted = allocated
  std::int64_t allocated_bytes() const;   // what was really allocated, counted at the allocations,
                                          // with the weights that it shares
  std::int64_t allocated_on_devices() const;
  const std::vector<std::string>& concessions()
      const;  // what was given up to keep the budget, worst last; empty where nothing

  // Plans and graphs by width class, narrowest first; index 0 is decode.
  std::size_t n_plans() const;
  const Plan& plan(std::size_t i) const;
  const Graph& graph(std::size_t i) const;
  // The one that runs a step of so many tokens. REQUIRES: 1 <= n_tokens <= prefill_width.
  std::size_t plan_for(std::int64_t n_tokens) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What the options say about which backend runs which node. Throws ValueError for unknown names and
// rules.
Routes routes_of(const SessionOptions& options);

// Plans of a session without loading weights or allocating: what `weft plan` prints.
struct PlannedModel {
  std::vector<Graph> graphs;
  std::vector<Assignment> assignments;  // by graph: what the plans were made with
  std::vector<Plan> plans;
  std::vector<MemoryPart> memory_parts;  // of the graphs' states
  MemoryUse memory;
  std::vector<std::string> concessions;
  SessionOptions options;
  std::string weights_reason;  // why options.weights is what it is
  // Of memory.weights_mapped: what the system has to drop from time to time, so that the rest keeps
  // a budget that nobody stated.
  std::int64_t dropped = 0;
};
PlannedModel plan_model(const Model& model, const SessionOptions& options);

}  // namespace weft
