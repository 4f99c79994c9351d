#pragma once
// The parts of an engine. engine.cpp has what other threads call, engine_loop.cpp the engine's
// thread.

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "weft/serve/engine.h"

#include "engine_inbox.h"
#include "engine_request.h"

namespace weft {

struct Engine::Impl {
  struct Slot {
    std::int32_t index = 0;                   // also of its sequence
    std::unique_ptr<serve::EngineText> text;  // null: the slot is idle
    std::vector<TokenId> held;                // by its sequence, while the slot is idle
    Clock::time_point used = {};
  };
  using Text = serve::EngineText;

  Impl(std::shared_ptr<const Model> model, const EngineOptions& options);
  ~Impl();

  // From any thread.
  RequestId submit(TextRequest&& wanted, std::shared_ptr<TextListener> listener);
  void check(const TextRequest& wanted) const;
  std::shared_ptr<const TokenTree> token_tree();

  void check_lora_scales(std::span<const float> scales) const;

  // The engine's thread.
  void loop();
  bool is_busy() const;
  void enqueue(const std::shared_ptr<serve::EngineRequest>& request);
  void end_cancelled();
  void end_unstarted(Text& text);
  void start_texts();
  Slot* slot_for(const Text& text);
  void start(std::unique_ptr<Text> text, Slot& slot);
  void step();
  void count_step(double seconds);
  void report_prompt(Slot& slot);
  void collect(const Batch::Event& event);
  void end_text(Slot& slot, const GenerationEvent& event);
  void fail_text(Slot& slot, const std::exception_ptr& error);
  void count_ended(const Text& text, bool failed);
  std::unique_ptr<Text> release(Slot& slot);
  std::size_t n_running() const;

  // Likewise, engine_tasks.cpp.
  Slot& idle_slot(std::int32_t index);
  void hold(Slot& slot, std::vector<TokenId> tokens);
  SlotFile save_slot(std::int32_t index, const std::string& path);
  SlotFile restore_slot(std::int32_t index, const std::string& path);
  std::int64_t erase_slot(std::int32_t index);
  std::vector<Embedding> embed(const std::vector<std::vector<TokenId>>& texts,
                               EmbedderOptions wanted);

  const std::shared_ptr<const Model> model;
  const EngineOptions options;
  Session session;
  Batch batch;
  std::once_flag tree_once;
  std::shared_ptr<const TokenTree> tree;  // of the vocabulary; null until a request needs it
  std::mutex lora_mutex;
  std::vector<float> lora_scales;  // of requests that name none; guarded by lora_mutex
  serve::EngineInbox inbox;
  std::vector<Slot> slots;
  std::vector<std::unique_ptr<Text>> queue;  // the next ones first
  serve::EngineInbox::Requests arrived;
  std::vector<serve::EngineInbox::Task> tasks;
  std::optional<Embedder> embedder;  // made when first used
  EmbedderOptions embedder_options;
  // Of a step.
  std::vector<Generation*> generations;
  std::vector<Slot*> running;
  std::vector<serve::EngineRequest*> requests;
  std::thread thread;
};

}  // namespace weft
