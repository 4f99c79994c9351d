#include <algorithm>
#include <limits>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/utf8.h"

#include "byte_trie.h"
#include "pipeline/piece_models.h"

namespace weft::tokenize {
namespace {

// A character without a token costs this much more than the worst token.
constexpr double kUnknownPenalty = 10;

// The tokens whose scores have the maximum sum; sums are in double precision.
class UnigramModel final : public PieceModel {
 public:
  UnigramModel(const ModelTokens& tokens, const TokenModel& model) : model_(model) {
    const std::int64_t n = tokens.vocabulary().size();
    if (std::ssize(model.scores) != n)
      fail<FormatError>("a unigram model of {} tokens has {} scores", n, model.scores.size());
    if (model.byte_fallback) byte_tokens_ = tokens.byte_tokens();
    std::vector<ByteTrie::Entry> entries;
    double worst = std::numeric_limits<double>::max();
    for (TokenId id = 0; id < n; ++id) {
      if (!tokens.contains(id)) continue;
      entries.emplace_back(tokens.vocabulary().text(id), id);
      worst = std::min(worst, score(id));
    }
    trie_ = ByteTrie(std::move(entries));
    unknown_score_ = worst - kUnknownPenalty;
  }

  void encode(std::string_view text, PieceScratch&, std::vector<TokenId>& out) const override;

 private:
  // The best way that ends at a place of the text.
  struct End {
    double score = 0;
    TokenId id = kNoToken;     // the last token; kNoToken for a character without one
    std::uint32_t length = 0;  // its bytes; 0: no way ends here
  };
  using Unknown = std::string_view;  // characters without a token, in a row

  double score(TokenId id) const { return model_.scores[static_cast<std::size_t>(id)]; }
  void extend(std::string_view text, std::size_t at, std::size_t base,
              std::vector<End>& ends) const;
  void emit(std::string_view text, std::size_t begin, const std::vector<End>& ends,
            Unknown& unknown, std::vector<TokenId>& out) const;
  void flush(Unknown& unknown, std::vector<TokenId>& out) const;

  const TokenModel& model_;
  std::vector<TokenId> byte_tokens_;  // empty, or [256]
  ByteTrie trie_;
  double unknown_score_ = 0;
};

// Adds the ways that continue from `at` with one token. ends[i] is about the place base + i.
void UnigramModel::extend(std::string_view text, std::size_t at, std::size_t base,
                          std::vector<End>& ends) const {
  const double before = ends[at - base].score;
  const std::size_t character = decode_utf8(text, at).length;
  bool character_known = false;
  const auto offer = [&](std::size_t length, double total, TokenId id) {
    if (at + length - base >= ends.size()) ends.resize(at + length - base + 1);
    End& end = ends[at + length - base];
    if (end.length == 0 || total > end.score) end = {total, id, static_cast<std::uint32_t>(length)};
  };
  trie_.for_each_prefix(text, at, [&](std::size_t length, TokenId id) {
    offer(length, score(id) + before, id);
    character_known = character_known || length == character;
  });
  if (!character_known) offer(character, unknown_score_ + before, kNoToken);
}

// Unknown characters in a row become their bytes if all of these have tokens, or one unknown token.
void UnigramModel::flush(Unknown& unknown, std::vector<TokenId>& out) const {
  if (unknown.empty()) return;
  const auto token_of = [&](char byte) { return byte_tokens_[static_cast<std::uint8_t>(byte)]; };
  const bool bytes = !byte_tokens_.empty() && std::ranges::all_of(unknown, [&](char byte) {
    return token_of(byte) != kNoToken;
  });
  if (bytes) {
    for (const char byte : unknown) out.push_back(token_of(byte));
  } else if (model_.unknown == kNoToken) {  // nothing of a text is left out in silence
    fail<ValueError>("the tokenizer has no token for '{}', and none for unknown characters",
                     printable(unknown));
  } else {
    out.push_back(model_.unknown);
  }
  unknown = {};
}

// The tokens of the best way to the last of `ends`.
void UnigramModel::emit(std::string_view text, std::size_t begin, const std::vector<End>& ends,
                        Unknown& unknown, std::vector<TokenId>& out) const {
  std::vector<std::size_t> places;
  for (std::size_t i = ends.size() - 1; i > 0; i -= ends[i].length) places.push_back(i);
  for (std::size_t n = places.size(); n-- > 0;) {
    const End& end = ends[places[n]];
    const std::string_view piece = text.substr(begin + places[n] - end.length, end.length);
    if (end.id == kNoToken || end.id == model_.unknown) {
      unknown = unknown.empty() ? piece : Unknown(unknown.data(), unknown.size() + piece.size());
    } else {
      flush(unknown, out);
      out.push_back(end.id);
    }
  }
}

void UnigramModel::encode(std::string_view text, PieceScratch&, std::vector<TokenId>& out) const {
  // If no token reaches across a place, the best tokens before it are final: they can be written,
  // and only the score is carried on.
  std::vector<End> ends(1);
  std::size_t base = 0;
  Unknown unknown;
  for (std::size_t at = 0; at < text.size();) {
    if (at > base && at - base + 1 == ends.size()) {
      emit(text, base, ends, unknown, out);
      ends = {{.score = ends.back().score}};
      base = at;
    }
    extend(text, at, base, ends);
    at += decode_utf8(text, at).length;
  }
  emit(text, base, ends, unknown, out);
  flush(unknown, out);
}

}  // namespace

std::unique_ptr<PieceModel> make_unigram_model(const ModelTokens& tokens,
                                               const TokenizerPipeline& pipeline) {
  return std::make_unique<UnigramModel>(tokens, pipeline.model);
}

}  // namespace weft::tokenize
