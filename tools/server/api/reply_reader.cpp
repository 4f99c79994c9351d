#include "api/reply_reader.h"

#include <utility>

#include "weft/base/text.h"

namespace weft::api {

using Kind = ReplyEvent::Kind;

ReplyReader::ReplyReader(const ReplyReading& reading)
    : parser_(reading.syntax, reading.options),
      certain_(reading.certain_calls),
      trims_(!reading.options.tools.empty()) {}

std::vector<ReplyEvent> ReplyReader::push(std::string_view text) {
  std::vector<ReplyEvent> out;
  take(parser_.push(text), false, out);
  return out;
}

std::vector<ReplyEvent> ReplyReader::finish() {
  std::vector<ReplyEvent> out;
  take(parser_.finish(), true, out);
  if (n_calls_ == 0 && !open_call_ && !blank_.empty())
    out.push_back({.kind = Kind::content, .text = std::exchange(blank_, {})});
  return out;
}

void ReplyReader::take(std::vector<ReplyEvent> events, bool at_end, std::vector<ReplyEvent>& out) {
  for (ReplyEvent& event : events) {
    switch (event.kind) {
      case Kind::content:
        // The text of an enforced call that was cut has been passed on.
        if (!(at_end && open_call_)) content(std::move(event.text), out);
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

void ReplyReader::content(std::string text, std::vector<ReplyEvent>& out) {
  answered_ = true;
  if (!trims_) {
    out.push_back({.kind = Kind::content, .text = std::move(text)});
    return;
  }
  text.insert(0, std::exchange(blank_, {}));
  const std::string_view solid = trim_right(text);
  blank_ = text.substr(solid.size());
  if (solid.empty()) return;
  text.resize(solid.size());
  out.push_back({.kind = Kind::content, .text = std::move(text)});
}

void ReplyReader::call(ReplyEvent event, std::vector<ReplyEvent>& out) {
  answered_ = true;
  blank_.clear();
  const bool complete = event.kind == Kind::call_end;
  open_call_ = certain_ && !complete;
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
