#include "kinds/bpe.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "weft/base/error.h"
#include "weft/tokenize/byte_map.h"
#include "weft/tokenize/space_symbol.h"

#include "joinable.h"
#include "merger.h"
#include "split/pre_tokenizer.h"
#include "string_table.h"
#include "unicode/unicode_text.h"

namespace weft::tokenize {
namespace {

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(std::shared_ptr<const Vocabulary> vocabulary);

  std::string_view bytes(TokenId id) const override { return bytes_[static_cast<std::size_t>(id)]; }

 private:
  class Encoder;

  void encode_stretch(std::string_view text, std::vector<TokenId>& out) const override;
  bool bytes_written() const { return rule_->notation == PreTokenizerRule::Notation::bytes; }
  void choose_rule();
  void read_tokens();
  std::string token_bytes(TokenId id) const;
  void read_merges();
  void rank_by_id();

  const PreTokenizerRule* rule_ = nullptr;
  StringTable bytes_;
  StringTable whole_;  // the bytes of the tokens that pieces may be as a whole; empty strings for
                       // the others
  StringIndex whole_index_;
  std::array<TokenId, 256> byte_tokens_{};
  std::unique_ptr<JoinableNeighbours> joinable_;  // if tokens are literal texts
  MergeTable merges_;
};

// Merges piece by piece into `out`; the buffers are reused between pieces.
class BpeTokenizer::Encoder final : public PieceSink {
 public:
  Encoder(const BpeTokenizer& tokenizer, std::vector<TokenId>& out)
      : tokenizer_(tokenizer), out_(out), merger_(tokenizer.merges_) {}

  void piece(std::string_view text) override;

 private:
  bool take_whole(std::string_view text);
  void merge_bytes(std::string_view text);
  void merge_characters(std::string_view text);
  void merge();

  const BpeTokenizer& tokenizer_;
  std::vector<TokenId>& out_;
  Merger merger_;
};

// Pieces that are one token, regardless of the merges.
bool BpeTokenizer::Encoder::take_whole(std::string_view text) {
  const PreTokenizerRule& rule = *tokenizer_.rule_;
  const bool newlines = rule.whole_newlines && text.find_first_not_of('\n') == text.npos;
  if (!rule.ignore_merges && !newlines) return false;
  const std::int64_t id = tokenizer_.whole_index_.find(text);
  if (id >= 0) out_.push_back(static_cast<TokenId>(id));
  return id >= 0;
}

void BpeTokenizer::Encoder::piece(std::string_view text) {
  if (take_whole(text)) return;
  if (tokenizer_.bytes_written()) return merge_bytes(text);
  if (tokenizer_.rule_->drop_spaces && (CharReader(text).at(0).bits & char_class::kSpace) != 0)
    return;
  // Such pieces may be as long as the text: divide them where no token crosses.
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = at + decode_utf8(text, at).length;
    if (next == text.size() || !tokenizer_.joinable_->contains(text, at, next)) {
      merge_characters(text.substr(begin, next - begin));
      begin = next;
    }
    at = next;
  }
}

void BpeTokenizer::Encoder::merge_bytes(std::string_view text) {
  merger_.clear();
  for (const char c : text) merger_.add(tokenizer_.byte_tokens_[static_cast<std::uint8_t>(c)]);
  merge();
}

// A character without a token becomes its bytes.
void BpeTokenizer::Encoder::merge_characters(std::string_view text) {
  merger_.clear();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = decode_utf8(text, at).length;
    const std::string_view character = text.substr(at, length);
    at += length;
    if (const std::int64_t id = tokenizer_.whole_index_.find(character); id >= 0) {
      merger_.add(static_cast<TokenId>(id));
      continue;
    }
    const auto token_of = [&](char c) {
      return tokenizer_.byte_tokens_[static_cast<std::uint8_t>(c)];
    };
    if (std::any_of(character.begin(), character.end(),
                    [&](char c) { return token_of(c) == kNoToken; })) {
      merger_.add(kNoToken);
    } else {
      for (const char c : character) merger_.add(token_of(c));
    }
  }
  merge();
}

// Merges the symbols and appends the remaining ones.
void BpeTokenizer::Encoder::merge() {
  merger_.merge([this](TokenId merged) {
    const TokenId id = merged == kNoToken ? tokenizer_.vocabulary().special().unk : merged;
    if (id != kNoToken) out_.push_back(id);
  });
}

BpeTokenizer::BpeTokenizer(std::shared_ptr<const Vocabulary> shared)
    : Tokenizer(std::move(shared)), merges_(static_cast<std::size_t>(vocabulary().n_merges())) {
  choose_rule();
  read_tokens();
  if (vocabulary().n_merges() > 0) {
    read_merges();
  } else {
    rank_by_id();
  }
}

void BpeTokenizer::choose_rule() {
  const TokenizerKind* kind = find_tokenizer_kind(vocabulary().kind());
  const bool named_by_kind = kind != nullptr && !kind->rule.empty();
  rule_ = find_pre_tokenizer_rule(named_by_kind ? kind->rule : vocabulary().pre());
  if (rule_ != nullptr) {
    if (vocabulary().pre().empty() && !named_by_kind)
      warn(
          "the file names no tokenizer.ggml.pre: texts are split by the default rule, ids may "
          "differ from the model's own");
    return;
  }
  rule_ = &default_pre_tokenizer_rule();
  warn(
      fmt::format("tokenizer.ggml.pre '{}' is unknown: texts are split by the default rule, "
                  "ids may differ from the model's own",
                  vocabulary().pre()));
}

std::string BpeTokenizer::token_bytes(TokenId id) const {
  const std::string_view text = vocabulary().text(id);
  if (hidden(id) || vocabulary().type(id) == TokenType::user_defined) return std::string(text);
  switch (rule_->notation) {
    case PreTokenizerRule::Notation::bytes:
      return text_as_bytes(text).value_or(std::string(text));
    case PreTokenizerRule::Notation::space_symbols:
      if (const int value = byte_token_value(text); value >= 0)
        return std::string(1, static_cast<char>(value));
      return with_spaces(text);
    default:
      return std::string(text);
  }
}

void BpeTokenizer::read_tokens() {
  const bool whole = rule_->ignore_merges || !bytes_written();
  for (unsigned byte = 0; byte < 256; ++byte) {
    byte_tokens_[byte] =
        vocabulary().find(bytes_written() ? byte_as_text(static_cast<std::uint8_t>(byte))
                                          : std::string_view(fmt::format("<0x{:02X}>", byte)));
  }
  if (!bytes_written()) joinable_ = std::make_unique<JoinableNeighbours>();
  for (TokenId id = 0; id < vocabulary().size(); ++id) {
    const std::string bytes = token_bytes(id);
    bytes_.add(bytes);
    const std::string_view text = vocabulary().text(id);
    const bool produced = !hidden(id) && vocabulary().type(id) != TokenType::user_defined;
    if (produced && joinable_) joinable_->add(text);
    if (!whole) continue;
    const bool found = produced && (!bytes_written() || text_as_bytes(text));
    whole_.add(!found ? std::string_view() : bytes_written() ? std::string_view(bytes) : text);
  }
  if (whole) whole_index_.build(whole_);
}

// Some vocabularies have no merges: two tokens merge if their concatenation is a token; lower ids
// merge first.
void BpeTokenizer::rank_by_id() {
  constexpr std::size_t kMaxLength = 256;
  struct Found {
    TokenId left, right, joint;
  };
  std::vector<Found> found;
  for (TokenId id = 0; id < vocabulary().size(); ++id) {
    const std::string_view text = vocabulary().text(id);
    if (hidden(id) || vocabulary().type(id) == TokenType::user_defined || text.size() > kMaxLength)
      continue;
    for (std::size_t at = 0; at < text.size();) {
      at += decode_utf8(text, at).length;
      const TokenId left = vocabulary().find(text.substr(0, at));
      const TokenId right = left == kNoToken ? kNoToken : vocabulary().find(text.substr(at));
      if (right != kNoToken) found.push_back({left, right, id});
    }
  }
  merges_ = MergeTable(found.size());
  for (const Found& f : found) merges_.add(f.left, f.right, {f.joint, f.joint});
}

void BpeTokenizer::read_merges() {
  std::int64_t n_unknown = 0;
  std::string joint;
  for (std::int64_t rank = 0; rank < vocabulary().n_merges(); ++rank) {
    const std::string_view merge = vocabulary().merge(rank);
    const std::size_t space = merge.find(' ', 1);
    TokenId left = kNoToken;
    TokenId right = kNoToken;
    TokenId both = kNoToken;
    if (space != std::string_view::npos) {
      left = vocabulary().find(merge.substr(0, space));
      right = vocabulary().find(merge.substr(space + 1));
      joint.assign(merge.substr(0, space)).append(merge.substr(space + 1));
      both = vocabulary().find(joint);
    }
    if (left == kNoToken || right == kNoToken || both == kNoToken) {
      ++n_unknown;
    } else {
      merges_.add(left, right, {static_cast<std::int32_t>(rank), both});
    }
  }
  if (n_unknown > 0)
    warn(fmt::format("{} of {} merges name tokens that do not exist and are ignored", n_unknown,
                     vocabulary().n_merges()));
}

void BpeTokenizer::encode_stretch(std::string_view text, std::vector<TokenId>& out) const {
  Encoder encoder(*this, out);
  if (rule_->notation == PreTokenizerRule::Notation::space_symbols)
    return pre_tokenize(rule_->stages, with_space_symbols(text), encoder);
  if (rule_->notation == PreTokenizerRule::Notation::plain && vocabulary().flags().lowercase) {
    const std::string lower = lower_case(text);
    check_grown_text(lower.size(), kMaxText);
    return pre_tokenize(rule_->stages, lower, encoder);
  }
  pre_tokenize(rule_->stages, text, encoder);
}

}  // namespace

KindDefaults bpe_defaults(std::string_view pre) {
  const PreTokenizerRule* rule = find_pre_tokenizer_rule(pre);
  return {.flags = {.add_bos = rule != nullptr && rule->add_bos}, .special = {}};
}

std::shared_ptr<const Tokenizer> make_bpe(std::shared_ptr<const Vocabulary> vocabulary) {
  return std::make_shared<const BpeTokenizer>(std::move(vocabulary));
}

}  // namespace weft::tokenize
