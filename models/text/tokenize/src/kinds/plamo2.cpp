#include "kinds/plamo2.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "weft/base/error.h"
#include "weft/base/utf8.h"
#include "weft/tokenize/space_symbol.h"

#include "byte_trie.h"
#include "string_table.h"

namespace weft::tokenize {
namespace {

// Scores are whole numbers: sums of them do not depend on the order.
constexpr double kScale = 1e4;
constexpr std::int64_t kUnknownScore = -10'000'000;  // score of a character encoded as bytes
constexpr double kMaxScore = 1e9;                    // so that no sum over a text overflows
constexpr TokenId kInside = -2;                      // a place within a character
constexpr double kMinScore = -20e6;                  // tokens below are never used

class Plamo2Tokenizer final : public Tokenizer {
 public:
  explicit Plamo2Tokenizer(std::shared_ptr<const Vocabulary> shared);

  std::string_view bytes(TokenId id) const override { return bytes_[static_cast<std::size_t>(id)]; }

 private:
  void encode_stretch(std::string_view text, std::vector<TokenId>& out) const override;
  void emit_bytes(std::string_view character, std::vector<TokenId>& out) const;

  StringTable bytes_;
  std::vector<std::int64_t> scores_;
  ByteTrie tokens_;
  std::array<TokenId, 256> byte_tokens_{};
};

Plamo2Tokenizer::Plamo2Tokenizer(std::shared_ptr<const Vocabulary> shared)
    : Tokenizer(std::move(shared)) {
  if (!vocabulary().has_scores())
    fail<FormatError>("a vocabulary of kind 'plamo2' needs tokenizer.ggml.scores");
  byte_tokens_.fill(kNoToken);
  scores_.assign(static_cast<std::size_t>(vocabulary().size()), 0);
  std::vector<ByteTrie::Entry> entries;
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
    bytes_.add(text);
    const bool produced = !hidden(id) && type != TokenType::byte && type != TokenType::user_defined;
    const double score = std::round(static_cast<double>(vocabulary().score(id)) * kScale);
    if (!produced || !(score > kMinScore) || score > kMaxScore) continue;
    entries.emplace_back(text, id);
    scores_[static_cast<std::size_t>(id)] = static_cast<std::int64_t>(score);
  }
  tokens_ = ByteTrie(std::move(entries));
  warn_of_long_tokens(tokens_.n_too_long(), ByteTrie::kMaxLength);
  if (std::find(byte_tokens_.begin(), byte_tokens_.end(), kNoToken) != byte_tokens_.end())
    warn("some bytes have no token: characters that need them become unknown or are dropped");
}

void Plamo2Tokenizer::emit_bytes(std::string_view character, std::vector<TokenId>& out) const {
  const auto token_of = [&](char byte) { return byte_tokens_[static_cast<std::uint8_t>(byte)]; };
  if (std::all_of(character.begin(), character.end(),
                  [&](char byte) { return token_of(byte) != kNoToken; })) {
    for (const char byte : character) out.push_back(token_of(byte));
  } else if (vocabulary().special().unk != kNoToken) {
    out.push_back(vocabulary().special().unk);
  }
}

// From the end of the text to its begin: the best tokens from every position on. Ties go to the
// longest first token.
void Plamo2Tokenizer::encode_stretch(std::string_view text, std::vector<TokenId>& out) const {
  const std::size_t longest = std::max<std::size_t>(tokens_.max_length(), 4);
  std::vector<std::int64_t> best(longest + 1, 0);  // by place modulo its size
  std::vector<TokenId> first(text.size(), kNoToken);
  for (std::size_t end = text.size(); end > 0;) {
    std::size_t at = end - 1;  // where the character before `end` begins
    while (at > 0 && end - at < 4 && (text[at] & 0xC0) == 0x80) --at;
    if (const Utf8Char c = decode_utf8(text, at); !c.valid || c.length != end - at) at = end - 1;
    // Set before the tokens are tried, because one of them may end inside this character.
    for (std::size_t i = at + 1; i < end; ++i) first[i] = kInside;
    std::int64_t& here = best[at % best.size()];
    std::int64_t best_here = kUnknownScore + best[end % best.size()];
    tokens_.for_each_prefix(text, at, [&](std::size_t length, TokenId id) {
      const std::size_t next = at + length;
      if (next < text.size() && (text[next] & 0xC0) == 0x80 && first[next] == kInside) return;
      const std::int64_t sum = scores_[static_cast<std::size_t>(id)] + best[next % best.size()];
      if (sum < best_here) return;
      best_here = sum;
      first[at] = id;
    });
    here = best_here;
    end = at;
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length =
        first[at] == kNoToken ? decode_utf8(text, at).length : vocabulary().text(first[at]).size();
    if (first[at] == kNoToken) {
      emit_bytes(text.substr(at, length), out);
    } else {
      out.push_back(first[at]);
    }
    at += length;
  }
}

}  // namespace

KindDefaults plamo2_defaults(std::string_view) {
  return {.flags = {}, .special = {.bos = 1, .eos = 2, .unk = 0, .pad = 3}};
}

std::shared_ptr<const Tokenizer> make_plamo2(std::shared_ptr<const Vocabulary> vocabulary) {
  return std::make_shared<const Plamo2Tokenizer>(std::move(vocabulary));
}

}  // namespace weft::tokenize
