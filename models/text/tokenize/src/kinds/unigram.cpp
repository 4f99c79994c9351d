#include "kinds/unigram.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "weft/base/error.h"
#include "weft/base/utf8.h"
#include "weft/tokenize/space_symbol.h"

#include "byte_trie.h"
#include "kinds/sentencepiece.h"
#include "string_table.h"

namespace weft::tokenize {
namespace {

// A character without a token costs this much more than the worst token.
constexpr float kUnknownPenalty = 10.0F;

class UnigramTokenizer final : public SentencePieceTokenizer {
 public:
  explicit UnigramTokenizer(std::shared_ptr<const Vocabulary> vocabulary);

  std::string_view bytes(TokenId id) const override { return bytes_[static_cast<std::size_t>(id)]; }

 private:
  // The best way that ends at a place of the text.
  struct End {
    float score = 0;
    TokenId id = kNoToken;     // the last token; kUnknown for a character without one
    std::uint32_t length = 0;  // its bytes; 0: no way ends here
  };
  static constexpr TokenId kUnknown = -2;

  void encode_by(const SentencePieceRules& rules, std::string_view text,
                 std::vector<TokenId>& out) const override;
  void extend(std::string_view text, std::size_t at, std::size_t base,
              std::vector<End>& ends) const;
  void emit(std::string_view text, std::size_t begin, const std::vector<End>& ends,
            bool& after_unknown, std::vector<TokenId>& out) const;

  StringTable bytes_;
  ByteTrie tokens_;
  std::array<TokenId, 256> byte_tokens_{};
  bool falls_back_ = true;  // to bytes
  float unknown_score_ = 0;
};

UnigramTokenizer::UnigramTokenizer(std::shared_ptr<const Vocabulary> shared)
    : SentencePieceTokenizer(std::move(shared)) {
  if (!vocabulary().has_scores())
    fail<FormatError>("a vocabulary of kind 't5' needs tokenizer.ggml.scores");
  byte_tokens_.fill(kNoToken);
  std::vector<ByteTrie::Entry> entries;
  float worst = std::numeric_limits<float>::max();
  for (TokenId id = 0; id < vocabulary().size(); ++id) {
    const std::string_view text = vocabulary().text(id);
    const TokenType type = vocabulary().type(id);
    const int value = type == TokenType::byte ? byte_token_value(text) : -1;
    if (value >= 0) {
      const char byte = static_cast<char>(value);
      bytes_.add({&byte, 1});
      byte_tokens_[static_cast<std::size_t>(value)] = id;
      continue;
    }
    const bool as_it_stands = hidden(id) || type == TokenType::user_defined;
    bytes_.add(as_it_stands ? std::string(text) : with_spaces(text));
    if (type != TokenType::normal && type != TokenType::undefined) continue;
    entries.emplace_back(text, id);
    worst = std::min(worst, vocabulary().score(id));
  }
  tokens_ = ByteTrie(std::move(entries));
  warn_of_long_tokens(tokens_.n_too_long(), ByteTrie::kMaxLength);
  for (const TokenId id : byte_tokens_) falls_back_ = falls_back_ && id != kNoToken;
  unknown_score_ = worst - kUnknownPenalty;
}

// Adds the ways that continue from `at` with one token. ends[i] is about the place base + i.
void UnigramTokenizer::extend(std::string_view text, std::size_t at, std::size_t base,
                              std::vector<End>& ends) const {
  const float before = ends[at - base].score;
  const std::size_t character = decode_utf8(text, at).length;
  bool character_known = false;
  // Sums are taken in double precision and kept in single precision, as the library that the models
  // were made with does: over long texts the ways that it chooses depend on it.
  const auto offer = [&](std::size_t length, double score, TokenId id) {
    if (at + length - base >= ends.size()) ends.resize(at + length - base + 1);
    End& end = ends[at + length - base];
    if (end.length == 0 || score > static_cast<double>(end.score))
      end = {static_cast<float>(score), id, static_cast<std::uint32_t>(length)};
  };
  tokens_.for_each_prefix(text, at, [&](std::size_t length, TokenId id) {
    offer(length, static_cast<double>(before) + static_cast<double>(vocabulary().score(id)), id);
    character_known = character_known || length == character;
  });
  if (!character_known) offer(character, static_cast<double>(before + unknown_score_), kUnknown);
}

// The tokens of the best way to the last of `ends`. Unknown characters beside each other are one
// unknown token, or their bytes.
void UnigramTokenizer::emit(std::string_view text, std::size_t begin, const std::vector<End>& ends,
                            bool& after_unknown, std::vector<TokenId>& out) const {
  std::vector<std::size_t> places;
  for (std::size_t i = ends.size() - 1; i > 0; i -= ends[i].length) places.push_back(i);
  for (std::size_t n = places.size(); n-- > 0;) {
    const End& end = ends[places[n]];
    const bool unknown = end.id == kUnknown;
    if (!unknown) {
      out.push_back(end.id);
    } else if (falls_back_) {
      for (std::size_t i = places[n] - end.length; i < places[n]; ++i)
        out.push_back(byte_tokens_[static_cast<std::uint8_t>(text[begin + i])]);
    } else if (!after_unknown && vocabulary().special().unk != kNoToken) {
      out.push_back(vocabulary().special().unk);
    }
    after_unknown = unknown;
  }
}

void UnigramTokenizer::encode_by(const SentencePieceRules& rules, std::string_view raw,
                                 std::vector<TokenId>& out) const {
  const std::string text = normalize(charsmap(), rules, raw);
  // If no token reaches across a place, the best tokens before it are final: they can be written,
  // and only the score is carried on.
  std::vector<End> ends(1);
  std::size_t base = 0;
  bool after_unknown = false;
  for (std::size_t at = 0; at < text.size();) {
    if (at > base && at - base + 1 == ends.size()) {
      emit(text, base, ends, after_unknown, out);
      ends = {{.score = ends.back().score}};
      base = at;
    }
    extend(text, at, base, ends);
    at += decode_utf8(text, at).length;
  }
  emit(text, base, ends, after_unknown, out);
}

}  // namespace

KindDefaults unigram_defaults(std::string_view) {
  return {.flags = {.add_eos = true, .add_space_prefix = true, .remove_extra_whitespaces = true},
          .special = {.eos = 1, .unk = 2, .pad = 0}};
}

std::shared_ptr<const Tokenizer> make_unigram(std::shared_ptr<const Vocabulary> vocabulary) {
  return std::make_shared<const UnigramTokenizer>(std::move(vocabulary));
}

}  // namespace weft::tokenize
