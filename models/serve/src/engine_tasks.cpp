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

std::size_t Engine::Impl::idle_slot(std::int32_t index) const {
  if (index < 0 || index >= options.slots)
    fail<ValueError>("no slot {}: the engine has {}", index, options.slots);
  const auto i = static_cast<std::size_t>(index);
  if (slots[i].text) fail<ValueError>("slot {} is busy", index);
  return i;
}

Engine::SlotFile Engine::Impl::save_slot(std::int32_t index, const std::string& path) {
  const std::vector<TokenId>& tokens = held[idle_slot(index)].tokens;
  save_sequence(session, index, tokens, "", path);
  return {std::ssize(tokens), static_cast<std::int64_t>(std::filesystem::file_size(path))};
}

Engine::SlotFile Engine::Impl::restore_slot(std::int32_t index, const std::string& path) {
  idle_slot(index);
  const SavedSequence saved = SavedSequence::open(path);
  const std::int64_t n_vocab = model->facts().n_vocab;
  for (const TokenId id : saved.tokens()) {
    if (id < 0 || id >= n_vocab)
      fail<FormatError>("{}: token {} is outside the vocabulary of {}", path, id, n_vocab);
  }
  for (bool restored = false; !restored;) {
    try {
      saved.restore(session, index, std::ssize(saved.tokens()));
      restored = true;
    } catch (const BudgetError&) {
      if (!evict()) throw;
    }
  }
  hold(index, {saved.tokens().begin(), saved.tokens().end()});
  return {std::ssize(saved.tokens()), static_cast<std::int64_t>(std::filesystem::file_size(path))};
}

std::int64_t Engine::Impl::erase_slot(std::int32_t index) {
  const std::int64_t n = std::ssize(held[idle_slot(index)].tokens);
  session.truncate(index, 0);
  hold(index, {});
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
