#include "pipeline/piece_models.h"

#include <string>

#include <fmt/format.h>

#include "weft/base/utf8.h"
#include "weft/tokenize/space_symbol.h"

#include "byte_trie.h"

namespace weft::tokenize {
namespace {

using Kind = TokenModel::Kind;

// Covers a word with the longest tokens from its left; one unknown token if that fails.
class WordPieceModel final : public PieceModel {
 public:
  WordPieceModel(const ModelTokens& tokens, const TokenModel& model)
      : unknown_(model.unknown), max_chars_(model.max_word_chars) {
    const bool bert = tokens.vocabulary().kind() == "bert";
    const std::string_view continuing = model.continuing_prefix;
    std::vector<ByteTrie::Entry> first, later;
    for (TokenId id = 0; id < tokens.vocabulary().size(); ++id) {
      if (!tokens.contains(id)) continue;
      const std::string_view text = tokens.vocabulary().text(id);
      const TokenType type = tokens.vocabulary().type(id);
      if (bert && type == TokenType::normal) {
        const bool begins = text.starts_with(kSpaceSymbol);
        (begins ? first : later).emplace_back(text.substr(begins ? kSpaceSymbol.size() : 0), id);
        continue;
      }
      first.emplace_back(text, id);
      if (text.starts_with(continuing)) later.emplace_back(text.substr(continuing.size()), id);
    }
    first_ = ByteTrie(std::move(first));
    later_ = ByteTrie(std::move(later));
  }

  void encode(std::string_view word, PieceScratch&, std::vector<TokenId>& out) const override {
    const std::size_t before = out.size();
    std::size_t n_chars = 0;
    for (std::size_t at = 0; at < word.size(); ++n_chars) at += decode_utf8(word, at).length;
    bool known = n_chars <= max_chars_;
    for (std::size_t at = 0; known && at < word.size();) {
      const ByteTrie::Match match = (at == 0 ? first_ : later_).longest_prefix(word, at);
      at += match.length;
      // A token of a broken file may end inside a character.
      known = match.length > 0 && (at == word.size() || (word[at] & 0xC0) != 0x80);
      out.push_back(match.value);
    }
    if (known) return;
    out.resize(before);
    if (unknown_ != kNoToken) out.push_back(unknown_);
  }

 private:
  TokenId unknown_;
  std::size_t max_chars_;
  ByteTrie first_, later_;  // tokens that may begin a word, and that may follow in it
};

class WordLevelModel final : public PieceModel {
 public:
  WordLevelModel(const ModelTokens& tokens, const TokenModel& model)
      : tokens_(tokens), unknown_(model.unknown) {}

  void encode(std::string_view word, PieceScratch&, std::vector<TokenId>& out) const override {
    const TokenId id = tokens_.find(word);
    if (id != kNoToken || unknown_ != kNoToken) out.push_back(id != kNoToken ? id : unknown_);
  }

 private:
  const ModelTokens& tokens_;
  TokenId unknown_;
};

}  // namespace

ModelTokens::ModelTokens(const Vocabulary& vocabulary, const TokenizerPipeline& pipeline)
    : vocabulary_(vocabulary), in_model_(static_cast<std::size_t>(vocabulary.size()), true) {
  for (TokenId id = 0; id < vocabulary.size(); ++id)
    if (vocabulary.type(id) == TokenType::unused) in_model_[static_cast<std::size_t>(id)] = false;
  for (const AddedToken& token : pipeline.added)
    in_model_[static_cast<std::size_t>(token.id)] = token.in_model;
}

std::vector<TokenId> ModelTokens::byte_tokens() const {
  std::vector<TokenId> ids;
  for (unsigned byte = 0; byte < 256; ++byte) ids.push_back(find(fmt::format("<0x{:02X}>", byte)));
  return ids;
}

std::unique_ptr<PieceModel> make_piece_model(const ModelTokens& tokens,
                                             const TokenizerPipeline& pipeline) {
  switch (pipeline.model.kind) {
    case Kind::bpe:
      return make_bpe_model(tokens, pipeline);
    case Kind::unigram:
      return make_unigram_model(tokens, pipeline);
    case Kind::word_piece:
      return std::make_unique<WordPieceModel>(tokens, pipeline.model);
    default:
      return std::make_unique<WordLevelModel>(tokens, pipeline.model);
  }
}

}  // namespace weft::tokenize
