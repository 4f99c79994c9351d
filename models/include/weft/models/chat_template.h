#pragma once
// A conversation as the text that a model was trained on. What is here renders well-known forms,
// recognised by the markers in a template's text; it does not run the template. Default system
// prompts, tools and other logic of a template are therefore left out.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tokenizer.h"

namespace weft {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

struct ChatRenderOptions {
  bool add_generation_prompt = true;  // end with the opening of the assistant's turn
  std::string bos;                    // texts of the vocabulary's special tokens
  std::string eos;
};

struct RenderedChat {
  std::string text;
  std::vector<TextRange> foreign;  // what messages said, roles included: see EncodeOptions::foreign
};

// Immutable: any number of threads may render.
class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;
  // Encode the text with parse_special and without add_special: it holds the special tokens as
  // text, BOS included where the form has one. Pass on what is foreign, or a message that spells
  // out a control token ends its own turn and begins another. Throws ValueError for messages that
  // the form cannot express.
  virtual RenderedChat render(std::span<const ChatMessage> messages,
                              const ChatRenderOptions& options) const = 0;
  // What it was recognised as: "chatml", "llama3".
  virtual std::string_view name() const = 0;
};

// Chooses the renderer of a template's text (tokenizer.chat_template). Throws UnsupportedError for
// one that is not recognised; the message lists the names that can be given instead.
std::unique_ptr<const ChatTemplate> make_chat_template(std::string_view template_text);

// A form by its name (what --chat-template takes). Throws ValueError for unknown names.
std::unique_ptr<const ChatTemplate> make_named_chat_template(std::string_view name);

// The known names.
std::vector<std::string_view> chat_template_names();

}  // namespace weft
