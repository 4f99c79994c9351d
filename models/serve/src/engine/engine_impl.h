#pragma once
// The parts of an engine and the thread that connects them. The order of a turn is in
// engine_loop.cpp, work between steps in engine_tasks.cpp, what other threads call in engine.cpp.

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "weft/serve/engine.h"

#include "embeddings/engine_embedders.h"
#include "engine/engine_inbox.h"
#include "engine/engine_queue.h"
#include "engine/engine_slots.h"
#include "engine/engine_stepper.h"
#include "engine/memory_guard.h"
#include "engine/moved_texts.h"
#include "engine/sequence_store.h"
#include "engine/slot_files.h"
#include "engine/texts_on_disk.h"

namespace weft {

// The session that the engine's user asks for, with what others leave of the budget.
SessionOptions asked_session(const EngineOptions& options);

struct Engine::Impl {
  Impl(std::shared_ptr<const Model> model, const EngineOptions& options);
  ~Impl();

  // May be called from any thread.
  RequestId submit(TextRequest&& wanted, std::shared_ptr<TextListener> listener);
  void prepare(TextRequest&& wanted);
  std::shared_ptr<serve::EngineRequest> request(TextRequest&& wanted);
  void check(const TextRequest& wanted) const;
  void check_lora_scales(std::span<const float> scales) const;
  std::shared_ptr<const TokenTree> token_tree();

  // Called on the engine's thread.
  void loop();
  bool turn(bool nested);
  void run_tasks(bool nested);
  bool is_busy() const;
  std::vector<Embedding> embed(const std::vector<TypedTokens>& texts, const EmbedderOptions& wanted,
                               std::atomic<bool>& cancel);

  // Constant once the thread runs.
  const std::shared_ptr<const Model> model;
  MemoryOffer offer;            // its plans were moved to the sessions
  const EngineOptions options;  // with what was given up
  // Facts of the session of texts, or of the embedder if the model does not generate text.
  MemoryUse memory_use;
  SessionOptions session_options;
  std::int64_t context = 0;

  // Shared by all threads.
  std::once_flag tree_once;
  std::shared_ptr<const TokenTree> tree;  // the vocabulary's; null until a request needs it
  std::mutex lora_mutex;
  std::vector<float> lora_scales;  // for requests that name none; guarded by lora_mutex

  // Owned by the engine's thread, except the inbox. Each one refers only to those before it.
  Session session;
  Speculation speculation;
  serve::EngineInbox inbox;
  serve::EngineQueue queue;
  serve::SequenceStore store;
  serve::SlotFiles files;
  serve::MovedTexts moved;
  serve::TextsOnDisk disk;
  serve::EngineSlots slots;
  serve::EngineStepper stepper;
  serve::EngineEmbedders embedders;
  serve::MemoryGuard guard;
  serve::EngineInbox::Requests arrived;
  std::deque<serve::EngineInbox::Task> tasks;

  std::thread thread;
};

}  // namespace weft
