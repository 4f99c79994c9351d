#include "letters.h"

namespace weft::tokenize {
namespace {

class LettersTokenizer final : public Tokenizer {
 public:
  explicit LettersTokenizer(std::shared_ptr<const Vocabulary> vocabulary)
      : Tokenizer(std::move(vocabulary)) {}
  std::string_view bytes(TokenId id) const override { return vocabulary().text(id); }

 private:
  void encode_stretch(std::string_view text, std::vector<TokenId>& out) const override {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const TokenId id = vocabulary().find(text.substr(i, 1));
      if (id != kNoToken) out.push_back(id);
    }
  }
};

}  // namespace

KindDefaults letters_defaults(std::string_view) {
  return {};
}

std::shared_ptr<const Tokenizer> make_letters(std::shared_ptr<const Vocabulary> vocabulary) {
  return std::make_shared<const LettersTokenizer>(std::move(vocabulary));
}

}  // namespace weft::tokenize
