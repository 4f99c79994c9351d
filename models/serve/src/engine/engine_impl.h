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

#include "engine/engine_inbox.h"
#include "engine/engine_queue.h"
#include "engine/engine_request.h"
#include "engine/engine_slots.h"
#include "engine/prompt_pacing.h"
#include "engine/sequence_store.h"

namespace weft {

struct Engine::Impl {
  using Slot = serve::EngineSlot;

  Impl(std::shared_ptr<const Model> model, const EngineOptions& options);
  ~Impl();

  // From any thread.
  RequestId submit(TextRequest&& wanted, std::shared_ptr<TextListener> listener);
  void check(const TextRequest& wanted) const;
  void check_lora_scales(std::span<const float> scales) const;
  std::shared_ptr<const TokenTree> token_tree();

  // The loop.
  void loop();
  bool turn(bool nested);
  void run_tasks(bool nested);
  bool is_busy() const;

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

  serve::EngineQueue queue;
  serve::SequenceStore store;
  serve::EngineSlots slots;
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

}  // namespace weft
