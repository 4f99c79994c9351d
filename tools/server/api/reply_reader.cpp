#include "api/reply_reader.h"

#include <utility>

#include "api/context.h"

namespace weft::api {

using Kind = ReplyEvent::Kind;

ReplyReader::ReplyReader(const ReplyReading& reading)
    : parser_(reading.syntax, reading.options),
      certain_(reading.certain_calls),
      short_ids_(reading.short_ids) {}

std::vector<ReplyEvent> ReplyReader::push(std::string_view text) {
  std::vector<ReplyEvent> out;
  take(parser_.push(text), false, out);
  return out;
}

std::vector<ReplyEvent> ReplyReader::finish() {
  std::vector<ReplyEvent> out;
  take(parser_.finish(), true, out);
  return out;
}

void ReplyReader::take(std::vector<ReplyEvent> events, bool at_end, std::vector<ReplyEvent>& out) {
  for (ReplyEvent& event : events) {
    switch (event.kind) {
      case Kind::content:
        answered_ = true;
        // What is left of an enforced call that was truncated.
        if (!(at_end && certain_ && (open_call_ || n_calls_ > 0))) out.push_back(std::move(event));
        break;
      case Kind::reasoning:
        reasoned_ = true;
        out.push_back(std::move(event));
        break;
      case Kind::call_dropped:
        waiting_.clear();
        if (!at_end) open_call_ = false;
        break;
      case Kind::call_begin:
      case Kind::call_arguments:
      case Kind::call_end:
        call(std::move(event), out);
        break;
    }
  }
}

void ReplyReader::call(ReplyEvent event, std::vector<ReplyEvent>& out) {
  answered_ = true;
  const bool complete = event.kind == Kind::call_end;
  open_call_ = certain_ && !complete;
  event.call = n_calls_;  // dropped calls do not count
  if (short_ids_ && event.kind != Kind::call_arguments) {
    if (event.kind == Kind::call_begin) id_ = event.id.empty() ? new_id("", 9) : event.id;
    event.id = id_;
  }
  if (complete) ++n_calls_;
  if (!certain_ && !complete) {
    waiting_.push_back(std::move(event));
    return;
  }
  for (ReplyEvent& earlier : waiting_) out.push_back(std::move(earlier));
  waiting_.clear();
  out.push_back(std::move(event));
}

}  // namespace weft::api
