#pragma once
// Reads a reply as it is generated: what ReplyParser finds, with calls that are certain.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/chat_prompt.h"

namespace weft::api {

// One reply. Passes on content, reasoning, and calls: from their beginning if the grammar enforces
// them, else when they are complete, so that text which only looks like a call is content in
// streams, too.
class ReplyReader {
 public:
  explicit ReplyReader(const ReplyReading& reading);

  std::vector<ReplyEvent> push(std::string_view text);
  // At the end of the reply. An enforced call that was truncated stays as it is.
  std::vector<ReplyEvent> finish();
  // Complete calls so far.
  int n_calls() const { return n_calls_; }
  // The reply is in its reasoning section, or has not begun otherwise.
  bool may_reason() const { return !answered_; }
  bool reasoned() const { return reasoned_; }

 private:
  void take(std::vector<ReplyEvent> events, bool at_end, std::vector<ReplyEvent>& out);
  void call(ReplyEvent event, std::vector<ReplyEvent>& out);

  ReplyParser parser_;
  const bool certain_, short_ids_;
  std::string id_;                   // of the call that is open
  std::vector<ReplyEvent> waiting_;  // of a call that is not complete
  bool open_call_ = false;           // one was passed on and is not complete
  bool answered_ = false, reasoned_ = false;
  int n_calls_ = 0;
};

}  // namespace weft::api
