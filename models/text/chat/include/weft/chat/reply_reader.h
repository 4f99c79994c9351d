#pragma once
// Reads a reply as it is generated: the events of ReplyParser, with calls that are certain and have
// ids.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/reply/reply_parser.h"

namespace weft {

// How the reply of a model is read. The default: all of it is content.
struct ReplyReading {
  ReplySyntax syntax = {};
  ReplyParserOptions options = {};
  bool certain_calls = false;  // the grammar enforces them: text that begins like a call is one
  bool only_calls = false;  // there must be one: what the reply has after its reasoning are calls
  // Pass calls on while they are written, also those that no grammar enforces. One that turns out
  // to be malformed then ends with call_dropped.
  bool early_calls = false;
  bool short_ids = false;  // the template refuses ids but for nine letters or digits
  // Makes the id of a call to which the model gave none. Empty: such calls have none. Called by the
  // thread that reads. Each reader has a copy, and so a state of its own.
  std::function<std::string()> new_id = {};
};

// One reply. Passes on content, reasoning, and calls: from their beginning if the grammar enforces
// them or early calls are requested, else when they are complete, so that text which only looks
// like a call is content in streams, too. There is no call_dropped among its events without early
// calls. All events of a call but its arguments have its id.
class ReplyReader {
 public:
  // Throws like ReplyParser.
  explicit ReplyReader(const ReplyReading& reading);

  std::vector<ReplyEvent> push(std::string_view text);
  // At the end of the reply. `truncated`: it ended by a limit and not by the model. A call that is
  // incomplete then has no end, and the beginning of one is not content; else its text is content,
  // unless the grammar enforced it. A reply of calls only has no content then, however short the
  // beginning of the call is.
  std::vector<ReplyEvent> finish(bool truncated = false);
  // Complete calls so far.
  int n_calls() const { return n_calls_; }
  // The reply is in its reasoning section, or has not begun otherwise.
  bool may_reason() const { return !answered_; }
  bool reasoned() const { return reasoned_; }

 private:
  void take(std::vector<ReplyEvent> events, bool at_end, std::vector<ReplyEvent>& out);
  void drop(std::vector<ReplyEvent>& out);
  void call(ReplyEvent event, std::vector<ReplyEvent>& out);
  std::string id_or_new(const std::string& given) const;

  ReplyParser parser_;
  const bool certain_, only_calls_, early_;
  const std::function<std::string()> new_id_;
  std::string id_;                   // the id of the call that is open and was passed on
  std::vector<ReplyEvent> waiting_;  // the events of a call that is not complete
  bool open_call_ = false;           // one was passed on and is not complete
  bool answered_ = false, reasoned_ = false;
  int n_calls_ = 0, next_call_ = 0;
};

}  // namespace weft
