#include "weft/chat/reply_reader.h"

#include <utility>

namespace weft {

using Kind = ReplyEvent::Kind;

ReplyReader::ReplyReader(const ReplyReading& reading)
    : parser_(reading.syntax, reading.options),
      certain_(reading.certain_calls || reading.only_calls),
      only_calls_(reading.only_calls),
      early_(reading.early_calls),
      new_id_(reading.new_id) {}

std::vector<ReplyEvent> ReplyReader::push(std::string_view text) {
  std::vector<ReplyEvent> out;
  take(parser_.push(text), false, out);
  return out;
}

std::vector<ReplyEvent> ReplyReader::finish(bool truncated) {
  std::vector<ReplyEvent> out;
  std::vector<ReplyEvent> last = parser_.finish(truncated);
  // A call without an end stays as far as it came.
  if (truncated)
    std::erase_if(last, [](const ReplyEvent& e) { return e.kind == Kind::call_dropped; });
  take(std::move(last), true, out);
  return out;
}

void ReplyReader::take(std::vector<ReplyEvent> events, bool at_end, std::vector<ReplyEvent>& out) {
  for (ReplyEvent& event : events) {
    switch (event.kind) {
      case Kind::content:
        answered_ = true;
        // The rest of an enforced call that was truncated.
        if (at_end && (only_calls_ || (certain_ && (open_call_ || n_calls_ > 0)))) break;
        out.push_back(std::move(event));
        break;
      case Kind::reasoning:
        reasoned_ = true;
        out.push_back(std::move(event));
        break;
      case Kind::call_dropped:
        if (!at_end || !certain_) drop(out);
        break;
      case Kind::call_begin:
      case Kind::call_arguments:
      case Kind::call_end:
        call(std::move(event), out);
        break;
    }
  }
}

void ReplyReader::drop(std::vector<ReplyEvent>& out) {
  waiting_.clear();
  // The number of a call that was passed on is not used again.
  if (early_ && open_call_)
    out.push_back({.kind = Kind::call_dropped, .call = next_call_++, .id = id_});
  open_call_ = false;
}

void ReplyReader::call(ReplyEvent event, std::vector<ReplyEvent>& out) {
  answered_ = true;
  const bool at_once = certain_ || early_;
  const bool complete = event.kind == Kind::call_end;
  open_call_ = at_once && !complete;
  event.call = next_call_;
  if (complete) ++n_calls_, ++next_call_;
  if (at_once) {
    if (event.kind == Kind::call_begin) id_ = id_or_new(event.id);
    if (event.kind != Kind::call_arguments) event.id = id_;
    out.push_back(std::move(event));
    return;
  }
  waiting_.push_back(std::move(event));
  if (!complete) return;
  // Some notations have the id after the arguments.
  ReplyEvent &first = waiting_.front(), &last = waiting_.back();
  first.id = last.id = id_or_new(last.id.empty() ? first.id : last.id);
  for (ReplyEvent& known : waiting_) out.push_back(std::move(known));
  waiting_.clear();
}

std::string ReplyReader::id_or_new(const std::string& given) const {
  return given.empty() && new_id_ ? new_id_() : given;
}

}  // namespace weft
