#pragma once
// Chats, as plans, replies, generations and conversations use them.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/chat/chat_turn.h"

#include "border/objects.h"

namespace weft::c_api {

// Immutable: any number of threads.
struct ChatObject : Object {
  static constexpr Kind kKind = Kind::chat;
  ChatObject(std::shared_ptr<ModelObject> of, ChatFormat how)
      : Object(kKind), model(std::move(of)), format(std::move(how)) {}

  const std::shared_ptr<ModelObject> model;
  const ChatFormat format;
};

// Likewise.
struct ChatPlanObject : Object {
  static constexpr Kind kKind = Kind::chat_plan;
  ChatPlanObject(std::shared_ptr<ChatObject> of, ChatPlan made)
      : Object(kKind), chat(std::move(of)), plan(std::move(made)) {}

  const std::shared_ptr<ChatObject> chat;
  const ChatPlan plan;
};

// "auto", "none", "required", or the name of a tool; NULL: automatic.
ToolChoice tool_choice_of(const char* text);

// None for NULL. Throws like parse_tools(), and FormatError for an empty text.
std::vector<ChatTool> tools_of(const char* json);

// Calls on_reply, unless it is NULL. False: the call is to end.
bool pass_on(const ReplyEvent& event, weft_on_reply on_reply, void* user);

}  // namespace weft::c_api
