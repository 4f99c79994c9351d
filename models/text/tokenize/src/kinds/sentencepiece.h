#pragma once
// What the kinds of SentencePiece models share ("llama" and "t5"): how a stretch of text is
// normalized depends on whether it begins the whole text.

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/tokenize/tokenizer.h"

#include "unicode/charsmap.h"

namespace weft::tokenize {

class SentencePieceTokenizer : public Tokenizer {
 protected:
  explicit SentencePieceTokenizer(std::shared_ptr<const Vocabulary> shared)
      : Tokenizer(std::move(shared)), charsmap_(vocabulary().charsmap()) {}

  const Charsmap& charsmap() const { return charsmap_; }

 private:
  // Appends the ids of a stretch, which is not empty, after normalizing it by `rules`.
  virtual void encode_by(const SentencePieceRules& rules, std::string_view text,
                         std::vector<TokenId>& out) const = 0;

  void encode_stretch(std::string_view text, std::vector<TokenId>& out) const final {
    encode_by(rules(vocabulary().flags().prefix_once), text, out);
  }
  void encode_first_stretch(std::string_view text, std::vector<TokenId>& out) const final {
    encode_by(rules(false), text, out);
  }
  SentencePieceRules rules(bool continues) const {
    const TokenizerFlags& flags = vocabulary().flags();
    return {.space_prefix = flags.add_space_prefix && !continues,
            .remove_extra_spaces = flags.remove_extra_whitespaces,
            .continues = continues};
  }

  Charsmap charsmap_;
};

}  // namespace weft::tokenize
