#pragma once
// Runs chats of the interfaces.

#include <memory>

#include "api/chat_prompt.h"
#include "api/generation_fields.h"
#include "api/text_run.h"

namespace weft::api {

// prepare_chat(), after check_tools().
ChatPrompt checked_chat(const ServedModel& model, const ChatInput& input);

// The job that answers one chat once. Throws like prepare_chat() and text_request().
TextJob chat_job(const ServedModel& model, const ChatInput& input,
                 const GenerationFields& generation, int logprobs = -1);

}  // namespace weft::api
