#pragma once
// What turns a piece of text into tokens: byte-pair encoding, unigram, WordPiece, whole words.

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/tokenize/pipeline.h"
#include "weft/tokenize/vocabulary.h"

#include "merger.h"

namespace weft::tokenize {

// Buffers that are reused between the pieces of a text.
struct PieceScratch {
  std::optional<Merger> merger;
};

// Immutable: any number of threads may encode, each with a scratch of its own.
class PieceModel {
 public:
  virtual ~PieceModel() = default;
  // Appends the tokens of `text`, which is not empty. `scratch` was used with this model alone.
  virtual void encode(std::string_view text, PieceScratch& scratch,
                      std::vector<TokenId>& out) const = 0;
};

// The ids of the tokens that the model of a pipeline may produce, by their texts.
class ModelTokens {
 public:
  ModelTokens(const Vocabulary& vocabulary, const TokenizerPipeline& pipeline);

  bool contains(TokenId id) const { return in_model_[static_cast<std::size_t>(id)]; }
  TokenId find(std::string_view text) const {
    const TokenId id = vocabulary_.find(text);
    return id != kNoToken && contains(id) ? id : kNoToken;
  }
  // The token "<0xXX>" of each byte; kNoToken for those without one.
  std::vector<TokenId> byte_tokens() const;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  const Vocabulary& vocabulary_;
  std::vector<bool> in_model_;
};

// All keep references to `tokens` and `pipeline`. Throw FormatError if the vocabulary lacks what
// the model needs.
std::unique_ptr<PieceModel> make_piece_model(const ModelTokens& tokens,
                                             const TokenizerPipeline& pipeline);
std::unique_ptr<PieceModel> make_bpe_model(const ModelTokens& tokens,
                                           const TokenizerPipeline& pipeline);
std::unique_ptr<PieceModel> make_unigram_model(const ModelTokens& tokens,
                                               const TokenizerPipeline& pipeline);

}  // namespace weft::tokenize
