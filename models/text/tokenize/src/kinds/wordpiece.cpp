#include "kinds/wordpiece.h"

#include <string>

#include "weft/base/utf8.h"
#include "weft/tokenize/space_symbol.h"

#include "byte_trie.h"
#include "string_table.h"
#include "unicode/unicode_class.h"
#include "unicode/unicode_text.h"

namespace weft::tokenize {
namespace {

constexpr std::size_t kMaxWord = 100;  // characters; longer words are unknown

bool stands_alone(char32_t c) {
  const bool ascii = c > 0x20 && c < 0x7F;
  return (classify(c) & (char_class::kPunctuation | (ascii ? char_class::kSymbol : 0))) != 0;
}

class WordPieceTokenizer final : public Tokenizer {
 public:
  explicit WordPieceTokenizer(std::shared_ptr<const Vocabulary> vocabulary);

  std::string_view bytes(TokenId id) const override { return bytes_[static_cast<std::size_t>(id)]; }

 private:
  class Words;

  void encode_stretch(std::string_view text, std::vector<TokenId>& out) const override;
  void encode_word(std::string_view word, std::vector<TokenId>& out) const;
  void unknown(std::vector<TokenId>& out) const {
    if (vocabulary().special().unk != kNoToken) out.push_back(vocabulary().special().unk);
  }

  StringTable bytes_;
  ByteTrie first_;  // tokens that may begin a word
  ByteTrie later_;  // tokens that may follow in it
};

// Collects characters to words and hands each on when it is complete.
class WordPieceTokenizer::Words {
 public:
  Words(const WordPieceTokenizer& tokenizer, std::vector<TokenId>& out)
      : tokenizer_(tokenizer),
        lower_(tokenizer.vocabulary().flags().lowercase),
        strip_(tokenizer.vocabulary().flags().strip_accents),
        out_(out) {}

  void add(char32_t c) {
    if (is_removed_by_bert(c)) return;
    if ((classify(c) & char_class::kSpace) != 0) return end_word();
    if (is_bert_ideograph(c)) {
      end_word();
      normalized(c);
      return end_word();
    }
    normalized(c);
  }
  void end_word() {
    if (n_chars_ > kMaxWord) {
      tokenizer_.unknown(out_);
    } else if (n_chars_ > 0) {
      tokenizer_.encode_word(word_, out_);
    }
    word_.clear();
    n_chars_ = 0;
  }

 private:
  void normalized(char32_t c) {
    if (c < 0x80 || !strip_) return lowered(c);
    char32_t parts[kMaxDecomposed];
    const int n = decompose(c, parts);
    for (int i = 0; i < n; ++i) {
      if (!is_nonspacing_mark(parts[i])) lowered(parts[i]);
    }
  }
  void lowered(char32_t c) {
    if (lower_ && c == 0x130) {  // the one letter whose lower case has two characters
      split('i');
      split(0x307);
    } else {
      split(lower_ ? lower_case(c) : c);
    }
  }
  void split(char32_t c) {
    const bool alone = stands_alone(c);
    if (alone) end_word();
    if (++n_chars_ <= kMaxWord) append_utf8(c, word_);
    if (alone) end_word();
  }

  const WordPieceTokenizer& tokenizer_;
  const bool lower_, strip_;
  std::vector<TokenId>& out_;
  std::string word_;
  std::size_t n_chars_ = 0;
};

// Files write tokens that begin a word with U+2581 and the others without the "##" that they were
// published with.
WordPieceTokenizer::WordPieceTokenizer(std::shared_ptr<const Vocabulary> shared)
    : Tokenizer(std::move(shared)) {
  std::vector<ByteTrie::Entry> first, later;
  for (TokenId id = 0; id < vocabulary().size(); ++id) {
    const std::string_view text = vocabulary().text(id);
    const bool as_it_stands = hidden(id) || vocabulary().type(id) == TokenType::user_defined;
    bytes_.add(as_it_stands ? std::string(text) : with_spaces(text));
    if (as_it_stands) continue;
    if (text.starts_with(kSpaceSymbol)) {
      first.emplace_back(text.substr(kSpaceSymbol.size()), id);
    } else {
      later.emplace_back(text, id);
    }
  }
  first_ = ByteTrie(std::move(first));
  later_ = ByteTrie(std::move(later));
  warn_of_long_tokens(first_.n_too_long() + later_.n_too_long(), ByteTrie::kMaxLength);
}

// One unknown token for the whole word if a part of it has no token.
void WordPieceTokenizer::encode_word(std::string_view word, std::vector<TokenId>& out) const {
  const std::size_t before = out.size();
  for (std::size_t at = 0; at < word.size();) {
    const ByteTrie::Match match = (at == 0 ? first_ : later_).longest_prefix(word, at);
    // A token of a broken file may end inside a character.
    const std::size_t next = at + match.length;
    if (match.length == 0 || (next < word.size() && (word[next] & 0xC0) == 0x80)) {
      out.resize(before);
      return unknown(out);
    }
    out.push_back(match.value);
    at = next;
  }
}

void WordPieceTokenizer::encode_stretch(std::string_view text, std::vector<TokenId>& out) const {
  Words words(*this, out);
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    words.add(c.code);
    at += c.length;
  }
  words.end_word();
}

}  // namespace

KindDefaults wordpiece_defaults(std::string_view) {
  return {.flags = {.add_bos = true, .add_sep = true, .lowercase = true, .strip_accents = true},
          .special = {.bos = 101, .unk = 100, .sep = 102, .pad = 0, .mask = 103}};
}

std::shared_ptr<const Tokenizer> make_wordpiece(std::shared_ptr<const Vocabulary> vocabulary) {
  return std::make_shared<const WordPieceTokenizer>(std::move(vocabulary));
}

}  // namespace weft::tokenize
