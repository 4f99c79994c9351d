#pragma once
// Drafts, as generations and conversations use them.

#include <memory>
#include <string>

#include "weft/serve/speculation.h"

#include "border/objects.h"

namespace weft::c_api {

struct SpeculationObject : Object {
  static constexpr Kind kKind = Kind::speculation;
  SpeculationObject(std::shared_ptr<SessionObject> of, const SpeculationOptions& options);
  bool is_parents() const override { return session->is_parents(); }
  Speculation& inner() { return speculation; }

  const std::shared_ptr<SessionObject> session;
  Gate& gate = session->gate;
  Speculation speculation;
  const std::string types;  // "draft,ngram-simple"
};

// Members of GenerationOptions and ConversationOptions.
struct Drafting {
  std::shared_ptr<Draft> draft;  // null: none
  std::size_t max_guesses = 0;
};
// For one generation; NULL gives none. Throws ValueError if it is of another session. REQUIRES: the
// caller is inside the session's gate.
Drafting drafting_by(const weft_speculation* handle, const SessionObject& session);

}  // namespace weft::c_api
