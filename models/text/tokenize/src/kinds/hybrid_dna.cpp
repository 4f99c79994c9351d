#include "kinds/hybrid_dna.h"

#include <string>
#include <utility>
#include <vector>

#include "weft/base/text.h"

#include "kinds/bpe.h"

namespace weft::tokenize {
namespace {

constexpr std::string_view kOpen = "<dna>";
constexpr std::string_view kClose = "</dna>";
constexpr std::string_view kBorders[] = {kOpen, kClose};
constexpr std::string_view kUnknown = "<oov>";
// Follows the texts of the sequence tokens, so that they differ from words of the same
// letters.
constexpr std::string_view kMarker = "\xEE\x80\x80";  // U+E000
constexpr std::size_t kLetters = 6;                   // per sequence token

class HybridDnaTokenizer final : public Tokenizer {
 public:
  explicit HybridDnaTokenizer(std::shared_ptr<const Vocabulary> shared)
      : Tokenizer(shared, kBorders),
        words_(make_bpe(std::move(shared))),
        open_(vocabulary().find(kOpen)),
        close_(vocabulary().find(kClose)),
        unknown_(vocabulary().find(kUnknown)) {
    for (const std::string& warning : words_->warnings()) {
      if (warnings().empty() || warnings().back() != warning) warn(warning);
    }
  }

  std::string_view bytes(TokenId id) const override {
    std::string_view bytes = words_->bytes(id);
    if (bytes.size() > kMarker.size() && bytes.ends_with(kMarker))
      bytes.remove_suffix(kMarker.size());
    return bytes;
  }

 private:
  void encode_stretch(std::string_view text, std::vector<TokenId>& out) const override;
  void encode_words(std::string_view text, std::vector<TokenId>& out) const {
    const std::vector<TokenId> ids = words_->encode(text, {.add_special = false});
    out.insert(out.end(), ids.begin(), ids.end());
  }
  void encode_sequence(std::string_view sequence, std::vector<TokenId>& out) const;

  std::shared_ptr<const Tokenizer> words_;
  TokenId open_, close_, unknown_;
};

// The last letters are filled up with A.
void HybridDnaTokenizer::encode_sequence(std::string_view sequence,
                                         std::vector<TokenId>& out) const {
  for (std::size_t at = 0; at < sequence.size(); at += kLetters) {
    std::string letters = to_upper(sequence.substr(at, kLetters));
    letters.resize(kLetters, 'A');
    const TokenId id = vocabulary().find(letters.append(kMarker));
    out.push_back(id == kNoToken ? unknown_ : id);
  }
}

void HybridDnaTokenizer::encode_stretch(std::string_view text, std::vector<TokenId>& out) const {
  if (open_ == kNoToken || close_ == kNoToken || unknown_ == kNoToken)
    return encode_words(text, out);
  while (!text.empty()) {
    const std::size_t begin = text.find(kOpen);
    encode_words(text.substr(0, begin), out);
    if (begin == text.npos) return;
    out.push_back(open_);
    text.remove_prefix(begin + kOpen.size());
    const std::size_t end = text.find(kClose);
    encode_sequence(text.substr(0, end), out);
    if (end == text.npos) return;
    out.push_back(close_);
    text.remove_prefix(end + kClose.size());
  }
}

}  // namespace

std::shared_ptr<const Tokenizer> make_hybrid_dna(std::shared_ptr<const Vocabulary> vocabulary) {
  return std::make_shared<const HybridDnaTokenizer>(std::move(vocabulary));
}

}  // namespace weft::tokenize
