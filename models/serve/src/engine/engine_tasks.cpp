// What an engine does between steps: files of slots, embeddings, scales of LoRAs.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "weft/adapters/adapters.h"
#include "weft/base/error.h"

#include "engine/engine_impl.h"

namespace weft {
namespace {

using namespace serve;

// Tokens in a step of embeddings, if texts may be divided: other texts wait for it.
constexpr std::int64_t kEmbeddingStep = 128;
// Embedders that are kept for further requests.
constexpr std::size_t kMaxEmbedders = 2;

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

// What is left of the budget for a session beside that of the texts, which shares its weights.
EmbedderOptions Engine::Impl::embedder_options(EmbedderOptions wanted) const {
  const SessionOptions& o = session.options();
  wanted.session = options.session;
  wanted.session.cells = 0;
  wanted.session.cache_k = wanted.session.cache_v = {};
  wanted.session.weights = o.weights;
  if (model->facts().gives_text()) {
    wanted.session.context = o.context;
    wanted.session.prefill_width = std::min(o.prefill_width, kEmbeddingStep);
  }
  std::int64_t used = session.memory().total();
  if (used > o.mem_budget) return wanted;  // the system evicts weights anyway
  used -= session.memory().weights_resident + session.memory().weights_mapped;
  for (const auto& made : embedders) {
    const MemoryUse& use = made->embedder.session().memory();
    used += use.total() - use.weights_resident - use.weights_mapped;
  }
  wanted.session.mem_budget = o.mem_budget - used;
  return wanted;
}

Embedder& Engine::Impl::embedder_for(const EmbedderOptions& wanted) {
  const auto key = [](const EmbedderOptions& o) {
    return std::tuple(o.pooling, o.max_tokens, o.texts_per_step);
  };
  const auto same = [&](const auto& made) { return key(made->options) == key(wanted); };
  const auto found = std::ranges::find_if(embedders, same);
  if (found != embedders.end()) {
    std::rotate(found, std::next(found), embedders.end());
    return embedders.back()->embedder;
  }
  if (embedders.size() == kMaxEmbedders) embedders.erase(embedders.begin());
  for (;;) {
    try {
      embedders.push_back(std::make_unique<MadeEmbedder>(
          MadeEmbedder{wanted, Embedder(model, embedder_options(wanted))}));
      return embedders.back()->embedder;
    } catch (const BudgetError&) {
      if (embedders.empty()) throw;
      embedders.erase(embedders.begin());
    }
  }
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
  Embedder& embedder = embedder_for(wanted);
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
std::future<Engine::SlotFile> Engine::save_slot(std::int32_t slot, std::string path) {
  return on_thread(impl_->inbox,
                   [this, slot, path = std::move(path)] { return impl_->store.save(slot, path); });
}
std::future<Engine::SlotFile> Engine::restore_slot(std::int32_t slot, std::string path) {
  return on_thread(impl_->inbox, [this, slot, saved = SavedSequence::open(path)] {
    return impl_->store.restore(slot, saved);
  });
}
std::future<std::int64_t> Engine::erase_slot(std::int32_t slot) {
  return on_thread(impl_->inbox, [this, slot] { return impl_->store.erase(slot); });
}
void Engine::set_lora_scales(std::vector<float> scales) {
  impl_->check_lora_scales(scales);
  const std::lock_guard lock(impl_->lora_mutex);
  impl_->lora_scales = std::move(scales);
}

}  // namespace weft
