#pragma once
// What a model is asked, as tokens.

#include <span>
#include <string_view>
#include <vector>

#include "weft/run/model.h"
#include "weft/template/chat_template.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {

// A text as tokens: what the vocabulary puts around it, and one token at least, since a model needs
// something to begin with. Throws ValueError for an empty text without a BOS or EOS token,
// UnsupportedError if the model has no tokenizer.
std::vector<TokenId> encode_prompt(const Model& model, std::string_view text);

// Messages as the text that the template makes of them, up to where the model answers. The texts of
// BOS and EOS are the vocabulary's, the rest is from `options`. Throws like ChatTemplate::render().
RenderedChat render_chat(const Vocabulary& vocabulary, const ChatTemplate& chat_template,
                         std::span<const ChatMessage> messages, ChatRenderOptions options);
// The tokens of such a text from byte `begin` on.
std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, const RenderedChat& chat,
                                 std::size_t begin = 0);

}  // namespace weft
