#include "weft/chat/encode_chat.h"

#include <algorithm>

namespace weft {

RenderedChat render_chat(const Vocabulary& vocabulary, const ChatTemplate& chat_template,
                         std::span<const ChatMessage> messages, ChatRenderOptions options) {
  const SpecialTokens& special = vocabulary.special();
  if (special.bos != kNoToken) options.bos = vocabulary.text(special.bos);
  if (special.eos != kNoToken) options.eos = vocabulary.text(special.eos);
  return chat_template.render(messages, options);
}

std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, const RenderedChat& chat,
                                 std::size_t begin) {
  std::vector<TextRange> foreign = chat.foreign;
  std::erase_if(foreign, [begin](const TextRange& range) { return range.end <= begin; });
  for (TextRange& range : foreign)
    range = {std::max(range.begin, begin) - begin, range.end - begin};
  return tokenizer.encode(std::string_view(chat.text).substr(begin),
                          {.add_special = false, .parse_special = true, .foreign = foreign});
}

}  // namespace weft
