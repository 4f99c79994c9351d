#pragma once
// The parts of an engine. What other threads call is in engine.cpp. Everything else belongs to the
// engine's thread: its loop in engine_loop.cpp, the steps in engine_step.cpp, the queue and the
// slots in engine_slots.cpp, profiles of steps in engine_watch.cpp, what it does between steps in
// engine_tasks.cpp.

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "weft/serve/engine.h"

#include "engine/deadlines.h"
#include "engine/engine_inbox.h"
#include "engine/engine_request.h"
#include "engine/prompt_pacing.h"
#include "engine/sequence_store.h"

namespace weft {

struct Engine::Impl {
  using Text = serve::EngineText;
  using TextPtr = std::unique_ptr<Text>;
  struct Slot {
    std::int32_t index = 0;  // also of its sequence
    TextPtr text;            // null: the slot is idle
  };
  using Reuse = serve::SequenceStore::Reuse;

  Impl(std::shared_ptr<const Model> model, const EngineOptions& options);
  ~Impl();

  // From any thread.
  RequestId submit(TextRequest&& wanted, std::shared_ptr<TextListener> listener);
  void check(const TextRequest& wanted) const;
  void check_lora_scales(std::span<const float> scales) const;
  std::shared_ptr<const TokenTree> token_tree();

  // The loop, and what ends texts.
  void loop();
  bool turn(bool nested);
  void run_tasks(bool nested);
  bool is_busy() const;
  std::size_t n_running() const;
  void end_cancelled();
  void end_waiting(Text& text);
  void end_text(Slot& slot, const GenerationEvent& event);
  void fail_request(std::shared_ptr<serve::EngineRequest> request, const std::exception_ptr& error);
  void fail_all(const std::exception_ptr& error);
  void end_listening(Text& text, const GenerationEvent& event, std::string_view stop_string);
  TextPtr leave(Slot& slot, bool returns = false);

  // Queue and slots.
  void enqueue(const std::shared_ptr<serve::EngineRequest>& request);
  void insert(TextPtr text);
  void start_texts();
  bool may_start(Text& text, Reuse& reuse);
  bool has_room(const Text& text, const Reuse& reuse) const;
  bool has_idle_slot(const Text& text) const;
  void start(TextPtr text, Slot& slot, const Reuse& reuse);
  void begin(Text& text, Slot& slot);
  void preempt();

  // Steps.
  void step();
  void set_quotas();
  void compute(std::span<Slot* const> some);
  void compute_each(std::vector<Slot*> some);
  void make_room(const std::exception_ptr& error);
  std::int64_t n_fed(std::span<Slot* const> some) const;
  void count_step(double seconds, std::int64_t n_fed);
  void report_prompt(Slot& slot);
  void collect(const Batch::Event& event);

  // Profiles of steps.
  NodeObserver* begin_watching(std::span<Slot* const> some);
  void tell_watchers(std::span<Slot* const> some);

  // Between steps.
  std::vector<Embedding> embed(const std::vector<TypedTokens>& texts, const EmbedderOptions& wanted,
                               std::atomic<bool>& cancel);
  Embedder& embedder_for(const EmbedderOptions& wanted);
  EmbedderOptions embedder_options(EmbedderOptions wanted) const;

  const std::shared_ptr<const Model> model;
  MemoryOffer offer;            // its plan was moved to the session
  const EngineOptions options;  // with what was given up
  Session session;
  Batch batch;
  std::once_flag tree_once;
  std::shared_ptr<const TokenTree> tree;  // of the vocabulary; null until a request needs it
  std::mutex lora_mutex;
  std::vector<float> lora_scales;  // of requests that name none; guarded by lora_mutex
  serve::EngineInbox inbox;
  serve::Deadlines deadlines{[this](RequestId id) { inbox.cancel(id); }};

  std::vector<Slot> slots;
  serve::SequenceStore store;
  std::vector<TextPtr> queue;  // the next ones first
  serve::PromptPacing pacing;
  serve::EngineInbox::Requests arrived;
  std::deque<serve::EngineInbox::Task> tasks;
  struct MadeEmbedder {
    EmbedderOptions options;  // as requested
    Embedder embedder;
  };
  std::vector<std::unique_ptr<MadeEmbedder>> embedders;  // the last one was used last
  // Of the session; of the embedder if the model does not generate text.
  MemoryUse memory_use;
  SessionOptions session_options;
  std::int64_t context = 0;
  // Of a step, by running text. Members, so that steps do not allocate.
  std::vector<Slot*> running;
  std::vector<std::int64_t> quotas;
  std::vector<Generation*> generations;
  std::vector<serve::EngineRequest*> requests;
  std::vector<std::int64_t> limits;
  std::int64_t n_text_tokens = 0;  // of texts that generate
  // Of the steps that somebody watches.
  std::unique_ptr<Profiler> profiler;         // null until there is one
  std::vector<std::int64_t> watched_lengths;  // before the step, of its texts
  std::int64_t watched_begin_ns = 0;
  std::thread thread;
};

namespace serve {

// Calls f(listener). A listener must not throw; if it does, its request is cancelled.
template <class F>
void notify(EngineRequest& request, F f) {
  try {
    f(*request.listener);
  } catch (...) {
    request.cancelled = true;
  }
}

}  // namespace serve

}  // namespace weft
