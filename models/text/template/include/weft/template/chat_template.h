#pragma once
// Renders a conversation as the text that a model was trained on. A template is a Jinja program
// with the settings and functions of Hugging Face's apply_chat_template (docs/templates.md). It
// comes with the model file and may be hostile: the cost of a render is bounded.

#include <cstdint>
#include <functional>
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
  std::string reasoning = {};  // an assistant's reasoning before the content
  std::vector<ToolCall> tool_calls = {};
  std::string tool_call_id = {};  // for a "tool" message: the call it answers
  std::string name = {};          // and the tool's name
};

// One call or several as text. The marks around it may become control tokens; the body may not.
struct CallText {
  std::string open, body, close;
};
// Writes the calls of a message, whose arguments are JSON or empty, as the model would.
using CallWriter = std::function<std::vector<CallText>(std::span<const ToolCall>)>;

// The cost limits of one render. Exceeding one is an error that names it.
struct ChatRenderLimits {
  std::size_t steps = 50'000'000;              // expressions and statements, long texts by length
  std::size_t memory = std::size_t{1} << 29;   // bytes of all values
  std::size_t output = std::size_t{64} << 20;  // bytes, also of any intermediate text
  int depth = 900;                             // nested macro calls and blocks
};

struct ChatRenderOptions {
  bool add_generation_prompt = true;  // end with the start of the assistant's turn
  std::string bos = {};               // texts of the vocabulary's special tokens
  std::string eos = {};
  std::string tools = {};   // a JSON array of tool definitions; empty for none
  std::string kwargs = {};  // a JSON object of additional variables; empty for none
  // If the last message is an assistant's without calls, end after its content as the template
  // writes it (which may trim it, or close a section of reasoning before it), so that the model
  // continues it. Replaces add_generation_prompt.
  bool continue_final_message = false;
  // How calls of the history are shown by a template that shows tools but no calls: as text of the
  // assistant after the content. Empty: as JSON between <tool_call> tags.
  CallWriter write_calls = {};
  ChatRenderLimits limits = {};
};

struct RenderedChat {
  std::string text;
  std::vector<TextRange> foreign;  // text of the messages and roles: see EncodeOptions::foreign
};

// The parts of a conversation that a template shows, found by rendering small conversations.
struct TemplateAbilities {
  bool system = true;                    // shows a system message at the beginning
  bool later_system = true;              // and one after the assistant's first answer
  bool own_system = false;               // writes one of its own if there is none
  bool tools = true;                     // shows the definitions of tools
  bool calls = true;                     // shows calls in the history
  bool results = true;                   // shows messages of tools
  bool words_with_calls = true;          // shows the content of a message that has calls
  bool many_calls = true;                // shows all calls of a message
  bool short_ids = false;                // refuses ids of calls but for nine letters or digits
  std::string tools_variable = "tools";  // where it looks for the definitions
  std::string reasoning_member = "reasoning_content";  // member of messages with the reasoning
};

// A template is malformed, or its rendering failed. what() has the place and the message.
class ChatTemplateError : public ValueError {
 public:
  enum class Cause : std::uint8_t {
    fault,   // an error in the template, or in its arguments
    raised,  // the template itself called raise_exception: the message is its own
    limit,   // one of ChatRenderLimits
  };
  ChatTemplateError(std::size_t line, std::size_t column, std::string message, Cause cause);
  std::size_t line() const { return line_; }      // from 1
  std::size_t column() const { return column_; }  // from 1, in characters
  const std::string& message() const { return message_; }
  Cause cause() const { return cause_; }

 private:
  std::size_t line_, column_;
  std::string message_;
  Cause cause_;
};

// Immutable: any number of threads may render.
class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;
  // Encode the text with parse_special and without add_special: it contains the special tokens as
  // text, including BOS if the template has one. Pass `foreign` on to the tokenizer, or a message
  // that spells out a control token could end its turn and begin another. Parts that the template
  // cannot show are written in another way (docs/templates.md#what-templates-lack). Throws
  // ChatTemplateError if the template fails, ValueError for a message without a role, FormatError
  // for options that are not valid JSON.
  virtual RenderedChat render(std::span<const ChatMessage> messages,
                              const ChatRenderOptions& options) const = 0;
  // One render with exactly these arguments: a JSON object with messages, tools, documents,
  // bos_token and all else that the template reads. strftime_now, if given ("2024-07-26T12:34:56"),
  // sets the clock. `defaults` supplies the limits, and special tokens that the arguments lack.
  virtual RenderedChat render_arguments(std::string_view arguments,
                                        const ChatRenderOptions& defaults = {}) const = 0;
  // Found at the first call.
  virtual const TemplateAbilities& abilities() const = 0;
  // The template that renders conversations with tools: this one, unless the model has two.
  virtual const ChatTemplate& for_tools() const { return *this; }
  // "chatml" for a template of that name, "" for one from a text.
  virtual std::string_view name() const = 0;
  virtual const std::string& source() const = 0;
};

// Parses a template (tokenizer.chat_template). Throws ChatTemplateError with line and column if it
// is malformed, ValueError if it is empty.
std::unique_ptr<const ChatTemplate> make_chat_template(std::string_view template_text);

// The same for a model that may have another one for conversations with tools
// (Vocabulary::tool_template()): render() uses it if the options have tools, render_arguments() if
// the arguments have a list of tools that is not empty. If `tool_template` is empty, there is none.
// The message of an error in it says that it is the template for tools.
std::unique_ptr<const ChatTemplate> make_chat_template(std::string_view template_text,
                                                       std::string_view tool_template);

// A built-in template by its name (the argument of --chat-template). Throws ValueError for unknown
// names.
std::unique_ptr<const ChatTemplate> make_named_chat_template(std::string_view name);

// The known names.
std::vector<std::string_view> chat_template_names();

}  // namespace weft
