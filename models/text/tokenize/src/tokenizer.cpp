#include "weft/tokenize/tokenizer.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/tokenize/space_symbol.h"

#include "special_splitter.h"

namespace weft {

using namespace tokenize;

namespace {

bool is_special(TokenType type) {
  return type == TokenType::control || type == TokenType::unknown;
}

bool is_ascii_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

Tokenizer::Tokenizer(std::shared_ptr<const Vocabulary> vocabulary,
                     std::span<const std::string_view> own)
    : vocabulary_(std::move(vocabulary)), warnings_(vocabulary_->warnings()) {
  std::vector<TokenId> user_defined;
  std::vector<TokenId> all;
  for (TokenId id = 0; id < vocabulary_->size(); ++id) {
    const TokenType type = vocabulary_->type(id);
    if (std::find(own.begin(), own.end(), vocabulary_->text(id)) != own.end()) continue;
    if (type == TokenType::user_defined) user_defined.push_back(id);
    if (type == TokenType::user_defined || is_special(type)) {
      all.push_back(id);
      if (vocabulary_->text(id).size() > SpecialSplitter::kMaxLength) {
        warn(fmt::format("special token {} has {} bytes and will not be found in texts", id,
                         vocabulary_->text(id).size()));
      }
    }
  }
  user_defined_ = std::make_unique<SpecialSplitter>(*vocabulary_, user_defined);
  all_special_ = std::make_unique<SpecialSplitter>(*vocabulary_, all);
}

Tokenizer::~Tokenizer() = default;

TokenId Tokenizer::opening() const {
  return vocabulary_->flags().add_bos ? vocabulary_->special().bos : kNoToken;
}

TokenId Tokenizer::closing() const {
  return vocabulary_->flags().add_eos ? vocabulary_->special().eos : kNoToken;
}

// Special tokens in the order of the text; of foreign stretches the user-defined ones alone.
std::vector<SpecialMatch> Tokenizer::find_special(std::string_view text,
                                                  const EncodeOptions& options) const {
  std::vector<SpecialMatch> all;
  std::size_t done = 0;
  const auto add = [&](const SpecialSplitter& splitter, std::size_t end) {
    for (const SpecialMatch& m : splitter.find(text.substr(done, end - done)))
      all.push_back({m.begin + done, m.end + done, m.id});
    done = end;
  };
  const SpecialSplitter& own = options.parse_special ? *all_special_ : *user_defined_;
  for (const TextRange& range : options.foreign) {
    if (range.begin < done || range.end < range.begin || range.end > text.size()) {
      fail<ValueError>("bytes {}..{} are not a range of a text of {} bytes", range.begin, range.end,
                       text.size());
    }
    add(own, range.begin);
    add(*user_defined_, range.end);
  }
  add(own, text.size());
  return all;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  if (text.size() > kMaxText) {
    fail<ValueError>("a text of {} bytes is too long to encode at once", text.size());
  }
  std::vector<TokenId> ids;
  const auto around = [&](TokenId id) {
    if (options.add_special && id != kNoToken) ids.push_back(id);
  };
  around(opening());
  std::size_t done = 0;
  for (const SpecialMatch& found : find_special(text, options)) {
    std::size_t end = std::max(found.begin, done);
    if (vocabulary_->strips_left(found.id)) {
      while (end > done && is_ascii_space(text[end - 1])) --end;
    }
    if (end > done) encode_stretch(text.substr(done, end - done), ids);
    ids.push_back(found.id);
    done = found.end;
    if (vocabulary_->strips_right(found.id)) {
      while (done < text.size() && is_ascii_space(text[done])) ++done;
    }
  }
  if (done < text.size()) encode_stretch(text.substr(done), ids);
  around(closing());
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, const DecodeOptions& options) const {
  std::string text;
  text.reserve(4 * ids.size());
  bool at_start = true;
  for (const TokenId id : ids) {
    check_id(id);
    if (hidden(id) && !options.show_special) continue;
    std::string_view piece = bytes(id);
    if (at_start && options.strip_space_prefix && vocabulary_->flags().add_space_prefix &&
        piece.starts_with(' '))
      piece.remove_prefix(1);
    at_start = false;
    text += piece;
  }
  return text;
}

void Tokenizer::warn_of_long_tokens(std::size_t n, std::size_t limit) {
  if (n > 0)
    warn(fmt::format("{} tokens are longer than {} bytes and are never produced", n, limit));
}

void Tokenizer::check_id(TokenId id) const {
  if (id >= 0 && id < vocabulary_->size()) return;
  fail<ValueError>("token id {} is outside the vocabulary of {} tokens", id, vocabulary_->size());
}

bool Tokenizer::hidden(TokenId id) const {
  return is_special(vocabulary_->type(id));
}

}  // namespace weft
