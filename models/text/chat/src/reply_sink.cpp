#include "weft/chat/reply_sink.h"

namespace weft {

void ReplySink::take(const ReplyEvent& event) {
  switch (event.kind) {
    case ReplyEvent::Kind::content:
      return on_content(event.text);
    case ReplyEvent::Kind::reasoning:
      return on_reasoning(event.text);
    case ReplyEvent::Kind::call_begin:
      return on_call(event.call, event.id, event.text);
    case ReplyEvent::Kind::call_arguments:
      return on_arguments(event.call, event.text);
    case ReplyEvent::Kind::call_end:
      return on_call_end(event.call);
    case ReplyEvent::Kind::call_dropped:
      return on_call_dropped(event.call);
  }
}

void ReplySink::take(std::span<const ReplyEvent> events) {
  for (const ReplyEvent& event : events) take(event);
}

ChatMessage MessageBuilder::whole_message() const {
  ChatMessage message = message_;
  if (open_) message.tool_calls.pop_back();
  return message;
}

void MessageBuilder::on_call(int, const std::string& id, const std::string& name) {
  message_.tool_calls.push_back({id, name, ""});
  open_ = true;
}

void MessageBuilder::on_arguments(int, const std::string& text) {
  message_.tool_calls.back().arguments += text;
}

void MessageBuilder::on_call_end(int) {
  open_ = false;
}

void MessageBuilder::on_call_dropped(int) {
  message_.tool_calls.pop_back();
  open_ = false;
}

}  // namespace weft
