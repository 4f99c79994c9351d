#pragma once
// Prompts and chats as tokens.

#include <span>
#include <string_view>
#include <vector>

#include "weft/run/model.h"
#include "weft/template/chat_template.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {

// The tokens of a text, including those that the vocabulary adds around it. At least one, because a
// model cannot start from nothing. Throws ValueError for an empty text if there is no BOS or EOS
// token, UnsupportedError if the model has no tokenizer.
std::vector<TokenId> encode_prompt(const Model& model, std::string_view text);

// Renders messages with the template, up to the start of the model's answer. The texts of BOS and
// EOS come from the vocabulary, all else from `options`. Throws like ChatTemplate::render().
RenderedChat render_chat(const Vocabulary& vocabulary, const ChatTemplate& chat_template,
                         std::span<const ChatMessage> messages, ChatRenderOptions options);
// The tokens of a rendered chat from byte `begin` on.
std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, const RenderedChat& chat,
                                 std::size_t begin = 0);

}  // namespace weft
