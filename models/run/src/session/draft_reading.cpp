#include "weft/run/draft_reading.h"

#include "weft/base/error.h"

#include "session/session_impl.h"

namespace weft {

void read_for_drafts(Session& session, std::int32_t sequence, const std::atomic<bool>* cancel) {
  auto& s = SessionAccess::impl(session);
  if (!s.planned.options.draft_layer)
    fail<ValueError>("the session has no draft layer (SessionOptions::draft_layer)");
  s.memory.lengths().check(sequence);
  s.last = {};
  s.drafts.read_all(sequence, cancel);
}

void observe_drafts(Session& session, NodeObserver* observer) {
  SessionAccess::impl(session).draft_observer = observer;
}

}  // namespace weft
