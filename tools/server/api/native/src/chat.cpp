#include "chat.h"

#include "weft/api/chat_fields.h"
#include "weft/api/interface_forms.h"
#include "weft/api/json.h"
#include "weft/api/json_text.h"

namespace weft::api::native {

const Fields<ChatFields>& chat_fields() {
  static const auto table =
      Fields<ChatFields>()
          .accepted("model", text(), "Name of the model; by default, the only one.")
          .add("messages", &ChatFields::messages, messages_form(), "Messages of the conversation.")
          .add("tools", &ChatFields::tools, list(tool_form()), "Tools that the model may call.")
          .add("chat_template_kwargs", &ChatFields::template_kwargs, object_text(),
               "Variables for the chat template.")
          .add("reasoning_effort", &ChatFields::reasoning_effort, text(),
               "Effort of reasoning, one of the variables of the template.")
          .add("add_generation_prompt", &ChatFields::add_generation_prompt, boolean(),
               "End the prompt with the beginning of the answer.")
          .add("continue_final_message", &ChatFields::continue_final_message, boolean(),
               "Continue the assistant's message at the end of the conversation.");
  return table;
}

ChatTurn chat_turn(const ChatFields& fields) {
  ChatTurn input;
  input.messages = *fields.messages;
  input.tools = fields.tools;
  input.kwargs = merge_objects(effort_kwargs(fields.reasoning_effort), fields.template_kwargs);
  input.add_generation_prompt = fields.add_generation_prompt;
  input.continue_final_message = fields.continue_final_message;
  return input;
}

}  // namespace weft::api::native
