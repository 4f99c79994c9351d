#pragma once
// Takes the events of a reply, with one function for each kind.

#include <span>
#include <string>

#include "weft/reply/reply_parser.h"
#include "weft/template/chat_template.h"

namespace weft {

class ReplySink {
 public:
  virtual ~ReplySink() = default;
  // Takes the events of a ReplyReader, in order.
  void take(const ReplyEvent& event);
  void take(std::span<const ReplyEvent> events);

 protected:
  virtual void on_content(const std::string& text) = 0;
  virtual void on_reasoning(const std::string& text) = 0;
  // A call begins; `index` counts the calls of the reply from 0. Its arguments follow in pieces.
  virtual void on_call(int index, const std::string& id, const std::string& name) = 0;
  virtual void on_arguments(int index, const std::string& text) = 0;
  // The call is complete: its arguments are a JSON object. A truncated call has no end.
  virtual void on_call_end(int index) { (void)index; }
  // The call is malformed; its text follows as content. Only from readers with early calls.
  virtual void on_call_dropped(int index) { (void)index; }
};

// The message that a reply becomes.
class MessageBuilder final : public ReplySink {
 public:
  // With a call that is not complete, as far as it came.
  const ChatMessage& message() const { return message_; }
  // Without it, because a history with one is not accepted by templates.
  ChatMessage whole_message() const;

 private:
  void on_content(const std::string& text) override { message_.content += text; }
  void on_reasoning(const std::string& text) override { message_.reasoning += text; }
  void on_call(int index, const std::string& id, const std::string& name) override;
  void on_arguments(int index, const std::string& text) override;
  void on_call_end(int index) override;
  void on_call_dropped(int index) override;

  ChatMessage message_{.role = "assistant", .content = ""};
  bool open_ = false;  // the last call is not complete
};

}  // namespace weft
