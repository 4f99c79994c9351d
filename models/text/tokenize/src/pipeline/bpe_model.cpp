#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "weft/base/error.h"
#include "weft/base/utf8.h"

#include "joinable.h"
#include "merger.h"
#include "pipeline/piece_models.h"

namespace weft::tokenize {
namespace {

class BpeModel final : public PieceModel {
 public:
  BpeModel(const ModelTokens& tokens, const TokenModel& model)
      : tokens_(tokens),
        model_(model),
        merges_(static_cast<std::size_t>(tokens.vocabulary().n_merges())) {
    if (model_.byte_fallback) byte_tokens_ = tokens_.byte_tokens();
    read_merges();
    for (char32_t code = 0; code < frequent_.size(); ++code) {
      std::string character;
      append_utf8(code, character);
      frequent_[code] = tokens_.find(character);
    }
    for (TokenId id = 0; id < tokens_.vocabulary().size(); ++id)
      if (tokens_.contains(id)) joinable_.add(tokens_.vocabulary().text(id));
  }

  void encode(std::string_view text, PieceScratch& scratch,
              std::vector<TokenId>& out) const override;

 private:
  class Symbols;

  void read_merges();
  bool may_divide(std::string_view text, std::size_t at, std::size_t next) const;
  TokenId find_char(std::string_view character, bool first, bool last) const;

  const ModelTokens& tokens_;
  const TokenModel& model_;
  std::vector<TokenId> byte_tokens_;       // empty, or [256]
  std::array<TokenId, 0x180> frequent_{};  // the tokens of these characters, all of byte-level BPE
  JoinableNeighbours joinable_;
  MergeTable merges_;
};

// A pair that is listed twice has its last rank.
void BpeModel::read_merges() {
  const Vocabulary& vocabulary = tokens_.vocabulary();
  std::string joint;
  for (std::int64_t rank = vocabulary.n_merges(); rank-- > 0;) {
    const std::string_view merge = vocabulary.merge(rank);
    const std::size_t space = std::min(merge.find(' ', 1), merge.size() - 1);
    const std::string_view left = merge.substr(0, space);
    std::string_view right = merge.substr(space + 1);
    const TokenId left_id = tokens_.find(left), right_id = tokens_.find(right);
    right.remove_prefix(std::min(model_.continuing_prefix.size(), right.size()));
    const TokenId both = tokens_.find(joint.assign(left).append(right));
    if (left_id == kNoToken || right_id == kNoToken || both == kNoToken)
      fail<FormatError>("merge {} names a token that does not exist", rank);
    merges_.add(left_id, right_id, {static_cast<std::int32_t>(rank), both});
  }
}

TokenId BpeModel::find_char(std::string_view character, bool first, bool last) const {
  const bool prefix = !first && !model_.continuing_prefix.empty();
  const bool suffix = last && !model_.word_suffix.empty();
  if (!prefix && !suffix) {
    const char32_t code = decode_utf8(character, 0).code;
    return code < frequent_.size() ? frequent_[code] : tokens_.find(character);
  }
  return tokens_.find((prefix ? model_.continuing_prefix : "") + std::string(character) +
                      (suffix ? model_.word_suffix : ""));
}

// The symbols of a piece. An unknown character is pending until the next known one, because unknown
// characters in a row may be one token; bytes do not end the row.
class BpeModel::Symbols {
 public:
  Symbols(const BpeModel& model, Merger& merger) : bpe_(model), merger_(merger) {}

  void add(std::string_view character, bool first, bool last) {
    const TokenId id = bpe_.find_char(character, first, last);
    if (id != kNoToken) {
      finish();
      merger_.add(id);
    } else if (!add_bytes(character, first, last) && bpe_.model_.unknown != kNoToken) {
      if (!bpe_.model_.fuse_unknown) finish();
      pending_ = true;
    }
  }
  void finish() {
    if (pending_) merger_.add(bpe_.model_.unknown);
    pending_ = false;
  }

 private:
  // The bytes are those of the text that was looked up.
  bool add_bytes(std::string_view character, bool first, bool last) {
    if (bpe_.byte_tokens_.empty()) return false;
    std::string text;
    if (!first) text += bpe_.model_.continuing_prefix;
    text += character;
    if (last) text += bpe_.model_.word_suffix;
    const auto token_of = [&](char byte) {
      return bpe_.byte_tokens_[static_cast<std::uint8_t>(byte)];
    };
    if (std::ranges::any_of(text, [&](char byte) { return token_of(byte) == kNoToken; }))
      return false;
    for (const char byte : text) merger_.add(token_of(byte));
    return true;
  }

  const BpeModel& bpe_;
  Merger& merger_;
  bool pending_ = false;
};

// Merging never crosses the border between two characters that are tokens and that no token
// contains side by side.
bool BpeModel::may_divide(std::string_view text, std::size_t at, std::size_t next) const {
  if (!model_.continuing_prefix.empty() || !model_.word_suffix.empty() ||
      joinable_.contains(text, at, next))
    return false;
  const auto known = [&](std::size_t begin) {
    return tokens_.find(text.substr(begin, decode_utf8(text, begin).length)) != kNoToken;
  };
  return known(at) && known(next);
}

void BpeModel::encode(std::string_view text, PieceScratch& scratch,
                      std::vector<TokenId>& out) const {
  if (model_.ignore_merges) {
    if (const TokenId whole = tokens_.find(text); whole != kNoToken) return out.push_back(whole);
  }
  if (!scratch.merger) scratch.merger.emplace(merges_);
  Merger& merger = *scratch.merger;
  merger.clear();
  Symbols symbols(*this, merger);
  const auto flush = [&] {
    symbols.finish();
    merger.merge([&](TokenId id) { out.push_back(id); });
    merger.clear();
  };
  constexpr std::size_t kLong = 256;  // shorter texts are not worth the search
  const bool long_text = text.size() > kLong;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = decode_utf8(text, at).length, next = at + length;
    symbols.add(text.substr(at, length), at == 0, next == text.size());
    if (long_text && next < text.size() && may_divide(text, at, next)) flush();
    at = next;
  }
  flush();
}

}  // namespace

std::unique_ptr<PieceModel> make_bpe_model(const ModelTokens& tokens,
                                           const TokenizerPipeline& pipeline) {
  return std::make_unique<BpeModel>(tokens, pipeline.model);
}

}  // namespace weft::tokenize
