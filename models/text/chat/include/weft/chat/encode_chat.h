#pragma once
// Rendered chats as tokens.

#include <span>
#include <vector>

#include "weft/template/chat_template.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {

// Renders messages with the template, up to the start of the model's answer. The texts of BOS and
// EOS come from the vocabulary, all else from `options`. Throws like ChatTemplate::render().
RenderedChat render_chat(const Vocabulary& vocabulary, const ChatTemplate& chat_template,
                         std::span<const ChatMessage> messages, ChatRenderOptions options);
// The tokens of a rendered chat from byte `begin` on.
std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, const RenderedChat& chat,
                                 std::size_t begin = 0);

}  // namespace weft
