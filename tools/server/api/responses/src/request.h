#pragma once
// Requests of /v1/responses.

#include <optional>
#include <string>
#include <vector>

#include "weft/api/generation_fields.h"
#include "weft/api/tool_choice.h"
#include "weft/chat/chat_turn.h"

namespace weft::api::responses {

// The fields that decide about the prompt: /v1/responses/input_tokens reads nothing else.
struct ChatRequest {
  std::vector<ChatMessage> input;
  std::string instructions;
  std::string previous_response_id;
  std::vector<ChatTool> tools;
  ToolSelection tool_choice;
  bool parallel_tool_calls = true;
  Constraint constraint;
  std::string effort;
  // As they were given: JSON texts, which the response repeats.
  std::string tools_json = "[]";
  std::string tool_choice_json = "\"auto\"";
  std::string text_json = R"({"format":{"type":"text"}})";
  std::string reasoning_json = R"({"effort":null,"summary":null})";
};

struct Request : ChatRequest, GenerationFields {
  bool store = true;
  std::string metadata_json = "{}";
  std::string truncation = "disabled";
  std::string user, prompt_cache_key, safety_identifier;
  std::vector<std::string> include;
  std::optional<std::int64_t> top_logprobs;
};

const Fields<ChatRequest>& chat_fields();
const Fields<Request>& fields();

// The chat, for plan_chat(). `earlier`: the conversation of previous_response_id.
ChatTurn chat_turn(const ChatRequest& request, const std::vector<ChatMessage>& earlier);

// GenerationOptions::logprobs.
int n_logprobs(const Request& request);

}  // namespace weft::api::responses
