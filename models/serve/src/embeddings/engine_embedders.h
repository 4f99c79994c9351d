#pragma once
// The embedders of an engine, which compute in sessions beside that of the texts.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "weft/base/ledger.h"
#include "weft/serve/embeddings.h"

namespace weft::serve {

// The options of an embedder beside the sessions with this use: that of the texts, with these
// resolved options, and those of other embedders. It shares the weights with them and gets what
// they leave of the budget. `asked`: what the engine's user asked for of the session. Throws
// UnsupportedError beside streamed weights, which leave nothing.
EmbedderOptions embedder_beside(const Model& model, const SessionOptions& texts,
                                const SessionOptions& asked, EmbedderOptions wanted,
                                std::span<const MemoryUse> use);

// Owned by the engine's thread; before that starts, by the one that makes the engine. Invariants:
// there are at most two, which differ in their options, and the last one was used last. All
// sessions together stay in the memory budget, for which those that were unused longest are given
// up.
class EngineEmbedders {
 public:
  // `session` is that of the texts, `wanted` are the options of the engine's user for it. The
  // session must outlive the embedders.
  EngineEmbedders(std::shared_ptr<const Model> model, const Session& session,
                  const SessionOptions& wanted);

  // Makes an embedder unless there is one with these options, without regard to `norm` and
  // `truncate`. It is valid until the next call. Throws like Embedder.
  Embedder& get(const EmbedderOptions& wanted);

 private:
  struct Made {
    EmbedderOptions options;  // as requested
    Embedder embedder;
    Taken memory{Account::embedders};  // unless its session is the engine's only one
  };

  void add(const EmbedderOptions& wanted);
  EmbedderOptions options_for(EmbedderOptions wanted) const;

  const std::shared_ptr<const Model> model_;
  const Session& session_;
  const SessionOptions wanted_session_;
  std::vector<std::unique_ptr<Made>> made_;
};

}  // namespace weft::serve
