#include "api/interface_chat.h"

#include <utility>

#include "api/chat_fields.h"

namespace weft::api {

ChatPrompt checked_chat(const ServedModel& model, const ChatInput& input) {
  check_tools(input.tools, input.tool_choice, "tool_choice");
  return prepare_chat(model, input);
}

TextJob chat_job(const ServedModel& model, const ChatInput& input,
                 const GenerationFields& generation, int logprobs) {
  ChatPrompt prompt = checked_chat(model, input);
  TextRequest request =
      text_request(model, generation, std::move(prompt.tokens), logprobs, input.messages_param);
  apply(prompt, request);
  TextJob job;
  job.prompts.push_back(std::move(request));
  job.reading = std::move(prompt.reading);
  job.prompt_param = input.messages_param;
  return job;
}

}  // namespace weft::api
