#include "kinds/rwkv.h"

#include <string>

#include "weft/tokenize/space_symbol.h"

#include "byte_trie.h"
#include "string_table.h"

namespace weft::tokenize {
namespace {

// Files escape the bytes of a token like string literals: \t, \n, \r, \xHH, and a backslash before
// other characters.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    const int hex = c == 'x' && i + 2 < text.size() ? hex_value(text.substr(i + 1, 2)) : -1;
    if (hex >= 0) {
      out += static_cast<char>(hex);
      i += 2;
    } else {
      out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
  }
  return out;
}

class RwkvTokenizer final : public Tokenizer {
 public:
  explicit RwkvTokenizer(std::shared_ptr<const Vocabulary> shared);

  std::string_view bytes(TokenId id) const override { return bytes_[static_cast<std::size_t>(id)]; }

 private:
  void encode_stretch(std::string_view text, std::vector<TokenId>& out) const override;

  StringTable bytes_;
  ByteTrie tokens_;
};

RwkvTokenizer::RwkvTokenizer(std::shared_ptr<const Vocabulary> shared)
    : Tokenizer(std::move(shared)) {
  for (TokenId id = 0; id < vocabulary().size(); ++id) {
    const std::string_view text = vocabulary().text(id);
    const bool as_it_stands = hidden(id) || vocabulary().type(id) == TokenType::user_defined;
    bytes_.add(as_it_stands ? std::string(text) : unescaped(text));
  }
  std::vector<ByteTrie::Entry> entries;
  for (TokenId id = 0; id < vocabulary().size(); ++id) {
    const TokenType type = vocabulary().type(id);
    if (!hidden(id) && type != TokenType::user_defined && type != TokenType::unused)
      entries.emplace_back(bytes(id), id);
  }
  tokens_ = ByteTrie(std::move(entries));
  warn_of_long_tokens(tokens_.n_too_long(), ByteTrie::kMaxLength);
}

void RwkvTokenizer::encode_stretch(std::string_view text, std::vector<TokenId>& out) const {
  for (std::size_t at = 0; at < text.size();) {
    const ByteTrie::Match match = tokens_.longest_prefix(text, at);
    const TokenId id = match.length > 0 ? match.value : vocabulary().special().unk;
    if (id != kNoToken) out.push_back(id);
    at += match.length > 0 ? match.length : 1;
  }
}

}  // namespace

KindDefaults rwkv_defaults(std::string_view) {
  return {};
}

std::shared_ptr<const Tokenizer> make_rwkv(std::shared_ptr<const Vocabulary> vocabulary) {
  return std::make_shared<const RwkvTokenizer>(std::move(vocabulary));
}

}  // namespace weft::tokenize
