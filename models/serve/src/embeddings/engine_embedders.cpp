#include "embeddings/engine_embedders.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/run/memory_plan.h"
#include "weft/run/modes.h"

namespace weft::serve {
namespace {

// Tokens in a step of embeddings, if texts may be divided: other texts wait for it.
constexpr std::int64_t kEmbeddingStep = 128;
// Embedders that are kept for further requests.
constexpr std::size_t kMaxEmbedders = 2;

}  // namespace

EmbedderOptions embedder_beside(const Model& model, const SessionOptions& texts,
                                const SessionOptions& asked, EmbedderOptions wanted,
                                std::span<const MemoryUse> use) {
  if (texts.weights == WeightMode::streamed)
    fail<UnsupportedError>("{}: {}", model.file().path(),
                           why_not(Feature::embeddings, Mode::streamed));
  wanted.session = asked;
  wanted.session.cells = 0;
  wanted.session.reserved = 0;  // it is part of what the session of texts uses
  wanted.session.cache_k = wanted.session.cache_v = {};
  wanted.session.weights = texts.weights;
  if (model.facts().gives_text()) {
    wanted.session.context = texts.context;
    wanted.session.prefill_width = std::min(texts.prefill_width, kEmbeddingStep);
  }
  // If the first one does not fit, the system evicts weights anyway.
  if (use.front().total() <= texts.mem_budget)
    wanted.session.mem_budget = budget_beside(texts.mem_budget, use);
  return wanted;
}

EngineEmbedders::EngineEmbedders(std::shared_ptr<const Model> model, const Session& session,
                                 const SessionOptions& wanted)
    : model_(std::move(model)), session_(session), wanted_session_(wanted) {}

EmbedderOptions EngineEmbedders::options_for(EmbedderOptions wanted) const {
  std::vector<MemoryUse> use{session_.memory()};
  for (const auto& made : made_) use.push_back(made->embedder.session().memory());
  EmbedderOptions options =
      embedder_beside(*model_, session_.options(), wanted_session_, std::move(wanted), use);
  // What requests have beyond what the plan of the texts reserves for them.
  std::int64_t taken = process_ledger().used() - session_.options().reserved;
  for (const auto& made : made_) taken -= made->memory.bytes();
  if (options.session.mem_budget > 0)
    options.session.mem_budget =
        std::max<std::int64_t>(1, options.session.mem_budget - std::max<std::int64_t>(0, taken));
  return options;
}

// It was planned to fit.
void EngineEmbedders::add(const EmbedderOptions& wanted) {
  made_.push_back(std::make_unique<Made>(Made{wanted, Embedder(model_, options_for(wanted))}));
  if (!model_->facts().gives_text()) return;
  const MemoryUse& use = made_.back()->embedder.session().memory();
  made_.back()->memory.set(use.state + use.arena + use.scratch + use.other);  // it shares weights
}

Embedder& EngineEmbedders::get(const EmbedderOptions& wanted) {
  const auto key = [](const EmbedderOptions& o) {
    return std::tuple(o.pooling, o.max_tokens, o.texts_per_step);
  };
  const auto same = [&](const auto& made) { return key(made->options) == key(wanted); };
  const auto found = std::ranges::find_if(made_, same);
  if (found != made_.end()) {
    std::rotate(found, std::next(found), made_.end());
    return made_.back()->embedder;
  }
  if (made_.size() == kMaxEmbedders) made_.erase(made_.begin());
  for (;;) {
    try {
      add(wanted);
      return made_.back()->embedder;
    } catch (const BudgetError&) {
      if (made_.empty()) throw;
      made_.erase(made_.begin());
    }
  }
}

}  // namespace weft::serve
