#pragma once
// The vocabulary of tokenizer.json while it is being read.

#include <string>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/files/weft_keys.h"
#include "weft/tokenize/pipeline.h"
#include "weft/tokenize/space_symbol.h"
#include "weft/tokenize/vocabulary.h"

#include "safetensors/tokenizer/tokenizer_json.h"

namespace weft::safetensors {

[[noreturn]] void unsupported(const JsonObject& json, std::string_view key, const Json* value);

// The tokens by id, with their types.
class Tokens {
 public:
  Tokens(const std::string& file, std::uint64_t n_vocab)
      : file_(file), texts_(n_vocab), types_(n_vocab, TokenType::unused) {}

  void add(const std::string& text, std::uint64_t id, TokenType type) {
    if (id >= texts_.size()) {
      fail<FormatError>("{}: token '{}' has id {}, the model has {} tokens", printable_path(file_),
                        printable(text), id, texts_.size());
    }
    std::string& at = texts_[id];
    const auto [it, fresh] = facts.ids.emplace(text, static_cast<std::uint32_t>(id));
    if (it->second != id || (types_[id] != TokenType::unused && at != text)) {
      fail<FormatError>("{}: token '{}' has id {}, but {}", printable_path(file_), printable(text),
                        id,
                        it->second != id ? fmt::format("id {}, too", it->second)
                                         : fmt::format("so has '{}'", printable(at)));
    }
    at = text;
    types_[id] = type;
  }
  void set_type(std::string_view text, TokenType type) {
    if (const auto id = facts.find(text)) types_[*id] = type;
  }
  void write(MetadataSink& writer) {
    std::vector<std::int32_t> types;
    for (std::size_t id = 0; id < texts_.size(); ++id) {
      if (types_[id] == TokenType::unused) texts_[id] = fmt::format("[PAD{}]", id);
      types.push_back(static_cast<std::int32_t>(types_[id]));
    }
    writer.add_strings("tokenizer.ggml.tokens", texts_);
    writer.add_i32s("tokenizer.ggml.token_type", types);
    write_added(kStripLeftKey, &AddedToken::strip_left, writer);
    write_added(kStripRightKey, &AddedToken::strip_right, writer);
    write_added(kWholeWordsKey, &AddedToken::whole_word, writer);
  }
  void set_kind(std::string_view kind, MetadataSink& writer) {
    writer.add_string("tokenizer.ggml.model", kind);
    facts.kind = kind;
  }
  std::size_t size() const { return texts_.size(); }
  const std::string& text(std::size_t id) const { return texts_[id]; }
  const std::vector<std::string>& texts() const { return texts_; }
  TokenType type(std::size_t id) const { return types_[id]; }
  // Changes the text of a token in the output; it is still found by its original text.
  void rewrite(std::size_t id, std::string text) { texts_[id] = std::move(text); }

  TokenizerFacts facts;
  std::vector<AddedToken> added;

 private:
  // The ids of the added tokens with that flag, unless there are none.
  void write_added(const char* key, bool AddedToken::*flag, MetadataSink& writer) const {
    std::vector<std::int32_t> ids;
    for (const AddedToken& token : added)
      if (token.*flag) ids.push_back(token.id);
    if (!ids.empty()) writer.add_i32s(key, ids);
  }

  const std::string& file_;
  std::vector<std::string> texts_;
  std::vector<TokenType> types_;
};

// The kind and the keys of a vocabulary for readers of GGUF files, by the type of the model. Return
// whether the kind gives the same ids as `pipeline`.
bool write_bpe(const JsonObject& json, const JsonObject& model, const TokenizerPipeline& pipeline,
               Tokens& tokens, MetadataSink& writer);
bool write_unigram(const TokenizerPipeline& pipeline, Tokens& tokens, MetadataSink& writer);
bool write_wordpiece(const JsonObject& model, const TokenizerPipeline& pipeline, Tokens& tokens,
                     MetadataSink& writer);

}  // namespace weft::safetensors
