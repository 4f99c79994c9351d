#pragma once
// A chat as the engine needs it: the prompt's tokens, what the reply may be, and how it is read.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/context.h"

namespace weft::api {

// A function that the model may call.
struct Tool {
  std::string name;
  std::string parameters;  // JSON Schema of the arguments; empty: none
  bool strict = false;     // calls must keep to the schema whatever the tool_choice is
  std::string definition;  // {"type": "function", "function": {..}}: what the template gets
  std::string param;       // path of the function: "tools[0].function"
};

struct ToolChoice {
  enum class Kind { automatic, none, required, named };
  Kind kind = Kind::automatic;
  std::string name = {};  // if named
};

// What an answer must be. The grammar of `gbnf` is for everything that the model generates; the
// others are for the content of its answer, after reasoning, and if it does not call a tool.
struct Constraint {
  enum class Kind { none, json_object, json_schema, regex, choice, gbnf };
  Kind kind = Kind::none;
  std::string text = {};                  // a schema, a pattern, a grammar
  std::vector<std::string> choices = {};  // Kind::choice
  std::string param = {};                 // the field that asks for it: "response_format"
};

struct ChatInput {
  std::vector<ChatMessage> messages;
  std::vector<Tool> tools;
  ToolChoice tool_choice;
  bool parallel_calls = true;
  Constraint constraint;
  std::string template_kwargs = {};  // a JSON object, before the model's own
  bool add_generation_prompt = true;
  // Continue the last message, if it is the assistant's, instead of answering it.
  bool continue_final_message = true;
  std::string messages_param = "messages";  // for errors
};

// How the reply of a model is read.
struct ReplyReading {
  ReplySyntax syntax;
  ReplyParserOptions options;
  // The grammar enforces calls, so that they can be shown while they are generated. Otherwise a
  // call is shown when it is complete.
  bool certain_calls = false;
  bool short_ids = false;  // calls get ids of nine letters or digits, which the template demands
};

struct ChatPrompt {
  std::vector<TokenId> tokens;
  std::string text;                        // of these
  std::vector<TokenId> shown;              // control tokens that the reader needs as text
  std::shared_ptr<const Grammar> grammar;  // null: any reply
  ReplyReading reading;
};

// Throws ApiError 400 with the field: a template that fails, a constraint that cannot be kept, a
// tool_choice that names no tool; 501 if the model has no template.
ChatPrompt prepare_chat(const ServedModel& model, const ChatInput& input);

// What of this concerns the engine: the grammar and the control tokens. The prompt is left alone.
void apply(const ChatPrompt& chat, TextRequest& request);

// The constraint alone, for texts that are not chats. Null if there is none. Throws ApiError 400
// that names Constraint::param.
std::shared_ptr<const Grammar> compile_constraint(const ServedModel& model,
                                                  const Constraint& constraint);

}  // namespace weft::api
