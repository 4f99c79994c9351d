#pragma once
// The vocabulary of tokenizer.json while it is being read.

#include <string>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/files/weft_keys.h"
#include "weft/tokenize/space_symbol.h"
#include "weft/tokenize/vocabulary.h"

#include "safetensors/tokenizer/tokenizer_json.h"

namespace weft::safetensors {

[[noreturn]] void unsupported(const JsonObject& json, std::string_view key, const Json* value);
[[noreturn]] void refuse_normalizer(const JsonObject& json, std::string_view type);

// The objects of a stage of the pipeline: those of its list, if it is a sequence, or itself.
std::vector<JsonObject> stages_of(const JsonObject& json, std::string_view key,
                                  std::string_view list);
bool has_type(const std::vector<JsonObject>& stages, std::string_view type);
// Whether a stage of type Metaspace puts a space before the text.
bool metaspace_prefix(const JsonObject& stage);

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
    if (!strip_left.empty()) writer.add_i32s(kStripLeftKey, strip_left);
    if (!strip_right.empty()) writer.add_i32s(kStripRightKey, strip_right);
    if (!whole_words.empty()) writer.add_i32s(kWholeWordsKey, whole_words);
  }
  void set_kind(std::string_view kind, MetadataSink& writer) {
    writer.add_string("tokenizer.ggml.model", kind);
    facts.kind = kind;
  }
  std::size_t size() const { return texts_.size(); }
  const std::string& text(std::size_t id) const { return texts_[id]; }
  TokenType type(std::size_t id) const { return types_[id]; }
  // Changes the text of a token in the output; it is still found by its original text.
  void rewrite(std::size_t id, std::string text) { texts_[id] = std::move(text); }

  TokenizerFacts facts;
  std::vector<std::int32_t> strip_left, strip_right;  // absorb the white space before or after them
  std::vector<std::int32_t> whole_words;              // are not found inside words

 private:
  const std::string& file_;
  std::vector<std::string> texts_;
  std::vector<TokenType> types_;
};

// Models of type Unigram become kind "t5", those of type WordPiece kind "bert".
void read_unigram(const JsonObject& json, const JsonObject& model, Tokens& tokens,
                  MetadataSink& writer);
void read_wordpiece(const JsonObject& json, const JsonObject& model, const JsonObject& config,
                    Tokens& tokens, MetadataSink& writer);
void read_added_tokens(const JsonObject& json, Tokens& tokens);

}  // namespace weft::safetensors
