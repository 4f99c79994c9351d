#pragma once
// The objects that functions of several sources share.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/files/checkpoint.h"
#include "weft/grammar/token_constraint.h"
#include "weft/run/session.h"
#include "weft/serve/generation.h"
#include "weft/tokenize/tokenizer.h"

#include "border/gate.h"
#include "border/handles.h"

namespace weft::c_api {

// Immutable: any number of threads.
struct ModelObject : Object {
  static constexpr Kind kKind = Kind::model;
  ModelObject() : Object(kKind) {}

  // Throw UnsupportedError if only the vocabulary was loaded, or if there is no tokenizer.
  const std::shared_ptr<const Model>& computing() const;
  const Tokenizer& text() const;
  std::shared_ptr<const TokenTree> tree() const;  // built at the first call

  std::string path, name, architecture;
  std::shared_ptr<const void> bytes;  // owned by the caller; null: by the library
  std::optional<Checkpoint> file;
  std::shared_ptr<const Model> model;  // null: only the vocabulary
  std::shared_ptr<const Vocabulary> vocabulary;
  std::shared_ptr<const Tokenizer> tokenizer;  // null if there is none
  std::string no_tokenizer;                    // why
  std::size_t n_loras = 0;

 private:
  mutable std::once_flag tree_once_;
  mutable std::shared_ptr<const TokenTree> tree_;
};

struct SessionObject : Object {
  static constexpr Kind kKind = Kind::session;
  SessionObject(std::shared_ptr<ModelObject> of, const SessionOptions& options)
      : Object(kKind), model(std::move(of)), session(model->computing(), options) {}
  bool is_parents() const override { return gate.is_parents(); }
  Session& inner() { return session; }

  const std::shared_ptr<ModelObject> model;
  Gate gate{"session"};
  Session session;
  std::vector<std::weak_ptr<Generation>> drafted;  // texts with drafts; used inside the gate
};

using UsedSession = Used<SessionObject>;

struct GrammarObject : Object {
  static constexpr Kind kKind = Kind::grammar;
  explicit GrammarObject(std::shared_ptr<const Grammar> of)
      : Object(kKind), grammar(std::move(of)) {}
  const std::shared_ptr<const Grammar> grammar;
};

}  // namespace weft::c_api
