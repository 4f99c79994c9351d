#include "engine/engine_embedders.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "weft/base/error.h"

namespace weft::serve {
namespace {

// Tokens in a step of embeddings, if texts may be divided: other texts wait for it.
constexpr std::int64_t kEmbeddingStep = 128;
// Embedders that are kept for further requests.
constexpr std::size_t kMaxEmbedders = 2;

}  // namespace

EngineEmbedders::EngineEmbedders(std::shared_ptr<const Model> model, const Session& session,
                                 const SessionOptions& wanted)
    : model_(std::move(model)), session_(session), wanted_session_(wanted) {}

// The session gets what is left of the budget beside the others, with which it shares the weights.
EmbedderOptions EngineEmbedders::options_for(EmbedderOptions wanted) const {
  const SessionOptions& o = session_.options();
  if (!session_.residency().empty())
    fail<UnsupportedError>(
        "{}: streamed weights leave no memory for embeddings: give the server a larger "
        "--mem-budget, "
        "or start another one for them",
        model_->file().path());
  wanted.session = wanted_session_;
  wanted.session.cells = 0;
  wanted.session.cache_k = wanted.session.cache_v = {};
  wanted.session.weights = o.weights;
  if (model_->facts().gives_text()) {
    wanted.session.context = o.context;
    wanted.session.prefill_width = std::min(o.prefill_width, kEmbeddingStep);
  }
  std::int64_t used = session_.memory().total();
  if (used > o.mem_budget) return wanted;         // the system evicts weights anyway
  const auto shared = [](const MemoryUse& use) {  // all sessions' plans count it
    return use.weights_resident + use.weights_mapped + use.program;
  };
  used -= shared(session_.memory());
  for (const auto& made : made_) {
    const MemoryUse& use = made->embedder.session().memory();
    used += use.total() - shared(use);
  }
  wanted.session.mem_budget = o.mem_budget - used;
  return wanted;
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
      made_.push_back(std::make_unique<Made>(Made{wanted, Embedder(model_, options_for(wanted))}));
      return made_.back()->embedder;
    } catch (const BudgetError&) {
      if (made_.empty()) throw;
      made_.erase(made_.begin());
    }
  }
}

}  // namespace weft::serve
