#pragma once
// One turn of a chat as a plan: the prompt of the model, the constraint of its reply, and how the
// reply is read. All code that chats with a model uses this: weft::Conversation, the server, and
// bindings.
//
//   const weft::ChatPlan plan = weft::plan_turn(format, {.messages = {{"user", "Hello"}}});
//   weft::ReplyReader reader(plan.reading);
//   // feed plan.tokens, generate within plan.grammar, pass the text to reader.push()

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/chat/constraint.h"
#include "weft/chat/reply_reader.h"
#include "weft/chat/tools.h"
#include "weft/template/chat_template.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {

// How a model chats. Immutable; the tokenizer must outlive it.
struct ChatFormat {
  const Tokenizer* tokenizer = nullptr;
  std::shared_ptr<const ChatTemplate> chat_template = nullptr;
  ReplySyntax syntax = {};  // the template's
};
// With the syntax that the template shows, which takes some renders. `chat_template` may be null.
ChatFormat chat_format(const Tokenizer& tokenizer,
                       std::shared_ptr<const ChatTemplate> chat_template);
// With the template of the vocabulary, which may have none. Throws like make_chat_template().
ChatFormat chat_format(const Tokenizer& tokenizer, const Vocabulary& vocabulary);

struct ChatTurn {
  std::vector<ChatMessage> messages;
  std::vector<ChatTool> tools = {};
  ToolChoice tool_choice = {};
  bool parallel_calls = true;  // several calls in one reply
  // Kind::gbnf holds for everything that is generated. The others hold for the content of the
  // answer, after reasoning, and if no tool is called. If a message is continued, they hold for the
  // continuation.
  Constraint constraint = {};
  std::string kwargs = {};  // a JSON object of variables for the template; empty for none
  bool add_generation_prompt = true;
  // Continue the last message, if it is the assistant's without calls and not the only one, instead
  // of answering it.
  bool continue_final_message = true;
  // False: reasoning is content, with the marks around it. Nullopt is true.
  std::optional<bool> reasoning_apart = {};
  // Name the parts of the turn in errors. Empty: errors are thrown as they are.
  std::string messages_place = {}, choice_place = {}, tools_place = {};
};

// A prompt that was computed and answered, with its tokens, some of them chosen by the model.
struct ComputedText {
  struct End {
    std::size_t text = 0, tokens = 0;
  };
  std::string_view text = {};
  std::span<const TokenId> tokens = {};
  // Where a beginning of the tokens has a beginning of the text, ascending: an earlier prompt, with
  // or without its answer.
  std::span<const End> ends = {};
};

struct ChatPlan {
  std::vector<TokenId> tokens;
  std::string text;                        // the text of `tokens`
  std::vector<TokenId> shown;              // control tokens that the reader needs as text
  std::shared_ptr<const Grammar> grammar;  // null: any reply
  ReplyReading reading;  // calls without an id get "call00000", .., which no earlier one has
};

// If the prompt begins with `computed`, or with what one of its ends has, those tokens are kept:
// the ones that the model chose may differ from the tokenizer's for the same text. Throws
// UnsupportedError if there is no template. Other errors are PlaceErrors if the part at fault has a
// place: a template that fails (ChatTemplateError without a place), a constraint or parameters that
// cannot be kept, a choice that names no tool, an empty prompt.
ChatPlan plan_turn(const ChatFormat& format, const ChatTurn& turn,
                   const ComputedText& computed = {});
// The tokens of the plan alone. Throws likewise, but for what concerns the reply.
std::vector<TokenId> prompt_tokens(const ChatFormat& format, const ChatTurn& turn);

}  // namespace weft
