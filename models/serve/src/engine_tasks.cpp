// What an engine does between steps: files of slots, embeddings, scales of LoRAs.
#include <cmath>
#include <filesystem>
#include <tuple>
#include <utility>

#include "weft/adapters/adapters.h"
#include "weft/base/error.h"

#include "engine_impl.h"

namespace weft {
namespace {

// Runs f on the engine's thread.
template <class F>
auto on_thread(serve::EngineInbox& inbox, F f) {
  auto task = std::make_shared<std::packaged_task<decltype(f())()>>(std::move(f));
  auto future = task->get_future();
  inbox.post([task] { (*task)(); });
  return future;
}

}  // namespace

void Engine::Impl::check_lora_scales(std::span<const float> scales) const {
  const std::size_t n_loras = model->adapters().loras().size();
  if (scales.size() != n_loras)
    fail<ValueError>("{} scales of LoRAs, the model has {}", scales.size(), n_loras);
  for (std::size_t i = 0; i < n_loras; ++i)
    if (!std::isfinite(scales[i])) fail<ValueError>("scale {} of a LoRA is not finite", i);
}

Engine::Impl::Slot& Engine::Impl::idle_slot(std::int32_t index) {
  if (index < 0 || index >= options.slots)
    fail<ValueError>("no slot {}: the engine has {}", index, options.slots);
  Slot& slot = slots[static_cast<std::size_t>(index)];
  if (slot.text) fail<ValueError>("slot {} is busy", index);
  return slot;
}

void Engine::Impl::hold(Slot& slot, std::vector<TokenId> tokens) {
  slot.held = std::move(tokens);
  slot.used = Clock::now();
  inbox.update_state([&](EngineState& s) {
    s.slots[static_cast<std::size_t>(slot.index)].n_held = std::ssize(slot.held);
  });
}

Engine::SlotFile Engine::Impl::save_slot(std::int32_t index, const std::string& path) {
  const Slot& slot = idle_slot(index);
  save_sequence(session, index, slot.held, "", path);
  return {std::ssize(slot.held), static_cast<std::int64_t>(std::filesystem::file_size(path))};
}

Engine::SlotFile Engine::Impl::restore_slot(std::int32_t index, const std::string& path) {
  Slot& slot = idle_slot(index);
  const SavedSequence saved = SavedSequence::open(path);
  const std::int64_t n_vocab = model->facts().n_vocab;
  for (const TokenId id : saved.tokens()) {
    if (id < 0 || id >= n_vocab)
      fail<FormatError>("{}: token {} is outside the vocabulary of {}", path, id, n_vocab);
  }
  saved.restore(session, index, std::ssize(saved.tokens()));
  hold(slot, {saved.tokens().begin(), saved.tokens().end()});
  return {std::ssize(slot.held), static_cast<std::int64_t>(std::filesystem::file_size(path))};
}

std::int64_t Engine::Impl::erase_slot(std::int32_t index) {
  Slot& slot = idle_slot(index);
  session.truncate(index, 0);
  const std::int64_t n = std::ssize(slot.held);
  hold(slot, {});
  return n;
}

std::vector<Embedding> Engine::Impl::embed(const std::vector<std::vector<TokenId>>& texts,
                                           EmbedderOptions wanted) {
  const auto key = [](const EmbedderOptions& o) {
    return std::tuple(o.pooling, o.norm, o.truncate, o.max_tokens, o.texts_per_step);
  };
  if (!embedder || key(embedder_options) != key(wanted)) {
    embedder.reset();
    embedder_options = wanted;
    wanted.session = options.session;
    wanted.session.weights = session.options().weights;
    if (options.session.mem_budget > 0) {
      const MemoryUse& use = session.memory();
      wanted.session.mem_budget -= use.state + use.arena + use.scratch;
    }
    embedder.emplace(model, wanted);
  }
  return embedder->embed(texts);
}

std::future<std::vector<Embedding>> Engine::embed(std::vector<std::vector<TokenId>> texts,
                                                  const EmbedderOptions& options) {
  return on_thread(impl_->inbox, [this, texts = std::move(texts), options] {
    return impl_->embed(texts, options);
  });
}
std::future<Engine::SlotFile> Engine::save_slot(std::int32_t slot, std::string path) {
  return on_thread(impl_->inbox,
                   [this, slot, path = std::move(path)] { return impl_->save_slot(slot, path); });
}
std::future<Engine::SlotFile> Engine::restore_slot(std::int32_t slot, std::string path) {
  return on_thread(impl_->inbox, [this, slot, path = std::move(path)] {
    return impl_->restore_slot(slot, path);
  });
}
std::future<std::int64_t> Engine::erase_slot(std::int32_t slot) {
  return on_thread(impl_->inbox, [this, slot] { return impl_->erase_slot(slot); });
}
void Engine::set_lora_scales(std::vector<float> scales) {
  impl_->check_lora_scales(scales);
  const std::lock_guard lock(impl_->lora_mutex);
  impl_->lora_scales = std::move(scales);
}

}  // namespace weft
