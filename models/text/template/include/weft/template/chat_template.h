#pragma once
// A conversation as the text that a model was trained on. A template is a program in the language
// of Jinja, with the settings and functions that Hugging Face's apply_chat_template gives it
// (docs/templates.md); it comes with the model file and may be hostile: what a render may take is
// bounded.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/error.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // a JSON object as text
};

struct ChatMessage {
  std::string role;  // "system", "user", "assistant", "tool"
  std::string content;
  std::string reasoning = {};  // what an assistant thought before
  std::vector<ToolCall> tool_calls = {};
  std::string tool_call_id = {};  // of a "tool" message: what it answers
  std::string name = {};          // and the tool's name
};

// What one render may take. Past a limit it ends with an error that names it.
struct ChatRenderLimits {
  std::size_t steps = 50'000'000;              // expressions and statements, long texts by length
  std::size_t memory = std::size_t{1} << 29;   // bytes of all values made
  std::size_t output = std::size_t{64} << 20;  // bytes, also of any text on the way
  int depth = 900;                             // macro calls and what is nested in them
};

struct ChatRenderOptions {
  bool add_generation_prompt = true;  // end with the opening of the assistant's turn
  std::string bos = {};               // texts of the vocabulary's special tokens
  std::string eos = {};
  std::string tools = {};   // a JSON array of tool definitions; empty for none
  std::string kwargs = {};  // a JSON object of further variables; empty for none
  ChatRenderLimits limits = {};
};

struct RenderedChat {
  std::string text;
  std::vector<TextRange> foreign;  // what messages said, roles included: see EncodeOptions::foreign
};

// A template that cannot be read, or that failed. what() has the place and the message.
class ChatTemplateError : public ValueError {
 public:
  ChatTemplateError(std::size_t line, std::size_t column, std::string message, bool raised);
  std::size_t line() const { return line_; }      // from 1
  std::size_t column() const { return column_; }  // from 1, in characters
  const std::string& message() const { return message_; }
  // The template itself refused, by raise_exception: the message is its own.
  bool raised() const { return raised_; }

 private:
  std::size_t line_, column_;
  std::string message_;
  bool raised_;
};

// Immutable: any number of threads may render.
class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;
  // Encode the text with parse_special and without add_special: it holds the special tokens as
  // text, BOS included where the template has one. Pass on what is foreign, or a message that
  // spells out a control token ends its own turn and begins another. Throws ChatTemplateError where
  // the template fails, ValueError for a message without a role, FormatError for options that are
  // not the JSON that they should be.
  virtual RenderedChat render(std::span<const ChatMessage> messages,
                              const ChatRenderOptions& options) const = 0;
  // One render with any arguments: a JSON object with messages, tools, documents, bos_token and
  // what else the template reads. strftime_now, where given ("2024-07-26T12:34:56"), is the clock.
  // `defaults` has the texts of special tokens for where the arguments have none, and the limits.
  virtual RenderedChat render_arguments(std::string_view arguments,
                                        const ChatRenderOptions& defaults = {}) const = 0;
  // "chatml" for a template of that name, "" for one from a text.
  virtual std::string_view name() const = 0;
  virtual const std::string& source() const = 0;
};

// Reads a template's text (tokenizer.chat_template). Throws ChatTemplateError with line and column
// for one that is malformed, ValueError for an empty one.
std::unique_ptr<const ChatTemplate> make_chat_template(std::string_view template_text);

// A plain form by its name (what --chat-template takes). Throws ValueError for unknown names.
std::unique_ptr<const ChatTemplate> make_named_chat_template(std::string_view name);

// The known names.
std::vector<std::string_view> chat_template_names();

}  // namespace weft
