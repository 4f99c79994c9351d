#pragma once
// Requests of Ollama's interface that generate texts: /api/chat and /api/generate.

#include <optional>
#include <string>
#include <vector>

#include "weft/api/generation_fields.h"
#include "weft/chat/chat_turn.h"

namespace weft::api::ollama {

// The fields that both endpoints read. `stream` is true by default.
struct TextFields : GenerationFields {
  Constraint format;
  std::string template_kwargs;  // from `think`
  bool unload = false;          // keep_alive is 0
  bool logprobs = false;
  std::int64_t top_logprobs = 0;
};

struct ChatRequest : TextFields {
  std::vector<ChatMessage> messages;
  std::vector<ChatTool> tools;
};

struct GenerateRequest : TextFields {
  std::string prompt, system;
  std::string suffix;
  bool raw = false;                   // the prompt is not put into the template
  std::vector<std::int64_t> context;  // tokens of an earlier answer
};

const Fields<ChatRequest>& chat_fields();
const Fields<GenerateRequest>& generate_fields();

ChatTurn chat_turn(const ChatRequest& request);
ChatTurn chat_turn(const GenerateRequest& request);  // made of prompt and system
int n_logprobs(const TextFields& fields);

}  // namespace weft::api::ollama
