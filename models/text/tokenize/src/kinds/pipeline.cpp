#include "kinds/pipeline.h"

#include <algorithm>
#include <string>

#include "weft/base/error.h"
#include "weft/tokenize/byte_map.h"
#include "weft/tokenize/pipeline.h"
#include "weft/tokenize/space_symbol.h"

#include "pipeline/added_tokens.h"
#include "pipeline/normalizers.h"
#include "pipeline/piece_models.h"
#include "pipeline/splitter.h"
#include "string_table.h"

namespace weft::tokenize {
namespace {

using Notation = TokenizerPipeline::Notation;
using Kind = TokenModel::Kind;

class PipelineTokenizer final : public Tokenizer {
 public:
  explicit PipelineTokenizer(std::shared_ptr<const Vocabulary> vocabulary);

  std::string_view bytes(TokenId id) const override { return bytes_[static_cast<std::size_t>(id)]; }

 private:
  // The added tokens that are found in a text, and those that are found once it is normalized.
  struct Found {
    AddedTokens raw, normalized;
  };

  const TokenizerPipeline& pipeline() const { return *vocabulary().pipeline(); }
  Found added_tokens(bool special) const;
  std::string token_bytes(TokenId id) const;
  void encode_text(std::string_view text, const EncodeOptions& options,
                   std::vector<TokenId>& out) const override;
  void encode_part(std::string_view text, bool at_start, const AddedTokens& added,
                   std::vector<TokenId>& out) const;
  void encode_stretch(std::string_view text, std::vector<TokenId>& out) const override {
    encode_part(text, false, {}, out);
  }

  StringTable bytes_;
  ModelTokens tokens_;
  Normalizers normalizers_;
  Splitter splitter_;
  std::unique_ptr<PieceModel> model_;
  Found plain_, all_;  // without special tokens, and with them
};

const TokenizerPipeline& checked(const Vocabulary& vocabulary) {
  const TokenizerPipeline* pipeline = vocabulary.pipeline();
  if (!pipeline) fail<FormatError>("a vocabulary of kind 'pipeline' needs weft.tokenizer.pipeline");
  const auto is_token = [&](TokenId id) { return id >= 0 && id < vocabulary.size(); };
  if (pipeline->model.unknown != kNoToken && !is_token(pipeline->model.unknown))
    fail<FormatError>("the unknown token {} is not one of {} tokens", pipeline->model.unknown,
                      vocabulary.size());
  for (const AddedToken& token : pipeline->added) {
    if (!is_token(token.id))
      fail<FormatError>("the added token {} is not one of {} tokens", token.id, vocabulary.size());
  }
  if (pipeline->notation == Notation::spaces && pipeline->space_symbol.empty())
    fail<FormatError>("the pipeline does not say what stands for a space");
  return *pipeline;
}

PipelineTokenizer::PipelineTokenizer(std::shared_ptr<const Vocabulary> shared)
    : Tokenizer(std::move(shared)),
      tokens_(vocabulary(), checked(vocabulary())),
      normalizers_(pipeline().normalizers),
      splitter_(pipeline().splits),
      model_(make_piece_model(tokens_, pipeline())),
      plain_(added_tokens(false)),
      all_(added_tokens(true)) {
  for (TokenId id = 0; id < vocabulary().size(); ++id) bytes_.add(token_bytes(id));
}

PipelineTokenizer::Found PipelineTokenizer::added_tokens(bool special) const {
  std::vector<AddedTokens::Entry> raw, normalized;
  for (const AddedToken& token : pipeline().added) {
    if (token.special && !special) continue;
    std::string text(vocabulary().text(token.id));
    bool at_start = true;
    if (token.normalized) normalizers_.apply(text, at_start);
    (token.normalized ? normalized : raw).emplace_back(std::move(text), token);
  }
  return {AddedTokens(std::move(raw)), AddedTokens(std::move(normalized))};
}

std::string with(std::string text, std::string_view symbol, std::string_view replacement) {
  for (std::size_t at = 0; (at = text.find(symbol, at)) != text.npos; at += replacement.size())
    text.replace(at, symbol.size(), replacement);
  return text;
}

std::string PipelineTokenizer::token_bytes(TokenId id) const {
  const std::string_view text = vocabulary().text(id);
  const TokenizerPipeline& p = pipeline();
  if (hidden(id) || vocabulary().type(id) == TokenType::user_defined) return std::string(text);
  if (const int value = p.byte_tokens ? byte_token_value(text) : -1; value >= 0)
    return std::string(1, static_cast<char>(value));
  if (p.notation == Notation::bytes) return text_as_bytes(text).value_or(std::string(text));
  if (vocabulary().kind() == "bert") return with_spaces(text);
  if (p.model.kind == Kind::word_piece) {
    const bool continues = text.starts_with(p.model.continuing_prefix);
    return continues ? std::string(text.substr(p.model.continuing_prefix.size()))
                     : " " + std::string(text);
  }
  if (p.notation == Notation::spaces) return with(std::string(text), p.space_symbol, " ");
  if (p.notation == Notation::words) return " " + std::string(text);
  if (!p.model.word_suffix.empty() && text.ends_with(p.model.word_suffix))
    return std::string(text.substr(0, text.size() - p.model.word_suffix.size())) + " ";
  return std::string(text);
}

// Special tokens are not found in foreign ranges, nor in normalized text that is in part foreign.
void PipelineTokenizer::encode_text(std::string_view text, const EncodeOptions& options,
                                    std::vector<TokenId>& out) const {
  check_text(text, options);
  const Found& own = options.parse_special ? all_ : plain_;
  std::vector<AddedTokens::Part> found;
  std::size_t done = 0;
  for (const TextRange& range : options.foreign) {
    own.raw.find(text, done, range.begin, found);
    plain_.raw.find(text, range.begin, range.end, found);
    done = range.end;
  }
  own.raw.find(text, done, text.size(), found);
  auto range = options.foreign.begin();  // the first one that does not end before the part
  for (const AddedTokens::Part& part : own.raw.parts(text, found)) {
    if (part.id != kNoToken) {
      out.push_back(part.id);
      continue;
    }
    while (range != options.foreign.end() && range->end <= part.begin) ++range;
    const bool foreign = range != options.foreign.end() && range->begin < part.end;
    encode_part(text.substr(part.begin, part.end - part.begin), part.begin == 0,
                (foreign ? plain_ : own).normalized, out);
  }
}

// Text without tokens that are found before it is normalized.
void PipelineTokenizer::encode_part(std::string_view text, bool at_start, const AddedTokens& added,
                                    std::vector<TokenId>& out) const {
  class Sink final : public PieceSink {
   public:
    Sink(const PieceModel& model, std::vector<TokenId>& out) : model_(model), out_(out) {}
    void piece(std::string_view piece) override { model_.encode(piece, scratch_, out_); }

   private:
    const PieceModel& model_;
    PieceScratch scratch_;
    std::vector<TokenId>& out_;
  };
  Sink sink(*model_, out);
  std::string normal(text);
  normalizers_.apply(normal, at_start);
  for (const AddedTokens::Part& part : added.split(normal)) {
    if (part.id != kNoToken) {
      out.push_back(part.id);
    } else {
      splitter_.split(std::string_view(normal).substr(part.begin, part.end - part.begin),
                      at_start && part.begin == 0, sink);
    }
  }
}

}  // namespace

KindDefaults pipeline_defaults(std::string_view) {
  return {};
}

std::shared_ptr<const Tokenizer> make_pipeline(std::shared_ptr<const Vocabulary> vocabulary) {
  return std::make_shared<const PipelineTokenizer>(std::move(vocabulary));
}

}  // namespace weft::tokenize
