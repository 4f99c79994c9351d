#pragma once
// A request of an engine and its texts, from submit() to the last event.

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/ledger.h"
#include "weft/serve/engine.h"

#include "prefixes/moved_parts.h"

namespace weft::serve {

struct EngineRequest {
  // Set by submit().
  RequestId id = 0;
  TextRequest wanted;
  std::shared_ptr<TextListener> listener;
  std::optional<TextRules> rules;  // each text starts with a copy
  Clock::time_point submitted;
  std::atomic<bool> cancelled{false};
  bool prepares = false;  // Engine::prepare()
  Taken memory{Account::texts};

  // Guarded by the inbox.
  bool waits = true;     // in the queue, and was never in a slot
  bool in_step = false;  // the current step has tokens of it

  // Owned by the engine's thread.
  std::int32_t n_ended = 0;
  bool prompt_reported = false;

  bool has_ended() const { return n_ended == wanted.texts; }
};

// One of the texts of a request: in the queue or in a slot.
struct EngineText {
  std::shared_ptr<EngineRequest> request;
  std::int32_t index = 0;
  std::optional<Generation> generation;  // from its first slot on
  std::shared_ptr<Draft> draft;          // likewise; null: there are none
  Clock::time_point started, first_token, last_token;
  std::int64_t n_reported = 0;  // prompt tokens in the last report of progress
  std::int64_t n_reused = 0;
  std::string why_not_reused;
  std::int64_t n_same = 0;  // these two as in PromptDone
  std::vector<TokenId> held_instead;
  std::deque<MovedPart> parts;   // those of the prompt that were not taken yet
  bool has_moved_parts = false;  // its sequence has taken some, or began with a text that had
  bool has_dropped = false;      // its sequence has lost tokens at the end of the context
  std::int64_t n_moved = 0;      // tokens taken, without those that were computed again

  // A text whose first n_tokens this one waits for.
  struct Awaited {
    RequestId request = 0;
    std::int32_t index = 0;
    std::int64_t n_tokens = 0;
  };
  Awaited awaited;

  bool is_cancelled() const { return request->cancelled; }
  // Whether other texts may continue from its sequence.
  bool is_shared() const { return request->wanted.reuse && !has_dropped; }
  bool allows_moved_parts() const {
    const TextRequest& wanted = request->wanted;
    return wanted.moved.min_tokens > 0 && wanted.reuse && wanted.slot < 0 &&
           !wanted.prompt_logprobs;
  }
  // The tokens it begins with: its prompt, or all of its tokens if it was preempted.
  std::span<const TokenId> tokens() const {
    return generation ? generation->tokens() : request->wanted.prompt;
  }
  // REQUIRES: `other` is in a slot.
  bool awaits(const EngineText& other) const {
    return awaited.request == other.request->id && awaited.index == other.index &&
           std::ssize(other.generation->held()) < awaited.n_tokens && other.computes_prompt() &&
           (!other.has_moved_parts || allows_moved_parts());
  }
  // Its tokens that steps compute next: up to the part that is taken.
  std::int64_t n_to_compute() const {
    const std::int64_t n = generation->n_pending();
    return parts.empty() ? n : std::min(n, parts.front().at - std::ssize(generation->held()));
  }
  // Tokens of its prompt that must still be computed.
  bool computes_prompt() const { return std::ssize(generation->held()) < generation->n_prompt(); }
};

// Calls f(listener). A listener must not throw; if it does, its request is cancelled.
template <class F>
void notify(EngineRequest& request, F f) {
  try {
    f(*request.listener);
  } catch (...) {
    request.cancelled = true;
  }
}

}  // namespace weft::serve
