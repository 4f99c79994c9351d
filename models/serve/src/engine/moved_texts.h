#pragma once
// Parts of prompts that are held at other positions (TextRequest::moved): what a text takes instead
// of computing it, and when. A text that has taken some is not what computing it gives: it is kept
// in a scope of its own, and only texts that allow it continue from it.
//
// Owned by the engine's thread.

#include <atomic>
#include <cstdint>
#include <string>

#include "engine/engine_request.h"

namespace weft::serve {

class SequenceStore;

class MovedTexts {
 public:
  // Both outlive it.
  MovedTexts(Session& session, SequenceStore& store);

  // Why the model takes no parts; "": it does.
  const std::string& why_not() const { return why_not_; }
  // Adds the parts of its prompt to EngineText::parts. REQUIRES: the text is attached, and has
  // none.
  void find(EngineText& text) const;
  // Takes at most `max_tokens` of the next part, where the text has come to. What is no longer held
  // is left to be computed. Throws like Session::step(), and has then taken nothing.
  struct Taken {
    std::int64_t n = 0, n_repeated = 0;  // those of n that were computed again
  };
  Taken take(EngineText& text, std::int64_t max_tokens, const std::atomic<bool>* cancel);

 private:
  bool is_held(const EngineText& text, std::int64_t n) const;

  Session& session_;
  SequenceStore& store_;
  const std::string why_not_;
};

}  // namespace weft::serve
