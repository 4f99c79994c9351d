// What an engine does between steps: files of slots, embeddings, scales of LoRAs.
#include <algorithm>
#include <cmath>
#include <utility>

#include "weft/adapters/adapters.h"
#include "weft/base/error.h"

#include "engine/engine_impl.h"

namespace weft {
namespace {

using namespace serve;

// Runs f on the engine's thread.
template <class F>
auto on_thread(EngineInbox& inbox, F f, bool has_steps = false) {
  auto task = std::make_shared<std::packaged_task<decltype(f())()>>(std::move(f));
  auto future = task->get_future();
  inbox.post({[task] { (*task)(); }, has_steps});
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

std::vector<Embedding> Engine::Impl::embed(const std::vector<TypedTokens>& texts,
                                           const EmbedderOptions& wanted,
                                           std::atomic<bool>& cancel) {
  struct Work {
    Work(EngineInbox& i, std::atomic<bool>& flag) : inbox(i) { inbox.begin_work(&flag); }
    ~Work() { inbox.end_work(); }
    EngineInbox& inbox;
  } const work(inbox, cancel);
  if (cancel) fail<CancelledError>("cancelled");
  Embedder& embedder = embedders.get(wanted);
  embedder.set_output(wanted.norm, wanted.truncate);
  Clock::time_point begin = Clock::now();
  // Texts run as long as the step before took.
  const auto let_texts_run = [&] {
    const double seconds = seconds_since(begin);
    const Clock::time_point pause = Clock::now();
    while (turn(true) && is_busy() && seconds_since(pause) < seconds) {
    }
    begin = Clock::now();
  };
  return embedder.embed(texts, &cancel, let_texts_run);
}

std::future<std::vector<Embedding>> Engine::embed(std::vector<TypedTokens> texts,
                                                  const EmbedderOptions& options,
                                                  std::shared_ptr<std::atomic<bool>> cancel) {
  if (!cancel) cancel = std::make_shared<std::atomic<bool>>(false);
  auto compute = [this, texts = std::move(texts), options, cancel] {
    return impl_->embed(texts, options, *cancel);
  };
  return on_thread(impl_->inbox, std::move(compute), true);
}
std::future<Engine::SlotFile> Engine::save_slot(std::int32_t slot, std::string path,
                                                std::string owner,
                                                std::function<void()> make_room) {
  return on_thread(impl_->inbox, [this, slot, path = std::move(path), owner = std::move(owner),
                                  make_room = std::move(make_room)] {
    return impl_->files.save(slot, path, owner, make_room);
  });
}
std::future<Engine::SlotFile> Engine::restore_slot(std::int32_t slot, const std::string& path,
                                                   std::string owner) {
  return on_thread(impl_->inbox,
                   [this, slot, saved = SavedSequence::open(path), owner = std::move(owner)] {
                     return impl_->files.restore(slot, saved, owner);
                   });
}
std::future<std::int64_t> Engine::erase_slot(std::int32_t slot, std::string owner) {
  return on_thread(impl_->inbox, [this, slot, owner = std::move(owner)] {
    return impl_->files.erase(slot, owner);
  });
}
std::int64_t LeftTexts::bytes() const {
  std::int64_t n = 0;
  for (const Text& text : texts) n += std::ssize(text.saved);
  return n;
}
std::future<LeftTexts> Engine::leave_texts() {
  return on_thread(impl_->inbox, [this] {
    const Session& session = impl_->session;
    if (session.options().kept == 0 || impl_->disk.is_on()) return LeftTexts();
    return impl_->files.leave(session.options().mem_budget / 8);
  });
}
std::future<void> Engine::take_texts(LeftTexts texts) {
  return on_thread(impl_->inbox, [this, texts = std::move(texts)] { impl_->files.take(texts); });
}
void Engine::set_lora_scales(std::vector<float> scales) {
  impl_->check_lora_scales(scales);
  const std::lock_guard lock(impl_->lora_mutex);
  impl_->lora_scales = std::move(scales);
}

}  // namespace weft
