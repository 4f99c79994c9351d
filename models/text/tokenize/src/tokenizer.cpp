#include "weft/tokenize/tokenizer.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/tokenize/space_symbol.h"

#include "pipeline/text_patterns.h"
#include "split/special_splitter.h"

namespace weft {

using namespace tokenize;

namespace {

bool is_special(TokenType type) {
  return type == TokenType::control || type == TokenType::unknown;
}

bool touches_word(std::string_view text, const SpecialMatch& found) {
  return ends_with_word(text.substr(0, found.begin)) || begins_with_word(text.substr(found.end));
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

// Special tokens in the order of the text; of foreign stretches the user-defined ones alone.
std::vector<SpecialMatch> Tokenizer::find_special(std::string_view text,
                                                  const EncodeOptions& options) const {
  std::vector<SpecialMatch> all;
  std::size_t done = 0;
  const auto add = [&](const SpecialSplitter& splitter, std::size_t end) {
    for (const SpecialMatch& m : splitter.find(text.substr(done, end - done))) {
      const SpecialMatch found{m.begin + done, m.end + done, m.id};
      if (vocabulary_->is_whole_word(m.id) && touches_word(text, found)) continue;
      all.push_back(found);
    }
    done = end;
  };
  const SpecialSplitter& own = options.parse_special ? *all_special_ : *user_defined_;
  for (const TextRange& range : options.foreign) {
    add(own, range.begin);
    add(*user_defined_, range.end);
  }
  add(own, text.size());
  return all;
}

void Tokenizer::check_text(std::string_view text, const EncodeOptions& options) {
  if (text.size() > kMaxText)
    fail<ValueError>("a text of {} bytes is too long to encode at once", text.size());
  std::size_t done = 0;
  for (const TextRange& range : options.foreign) {
    if (range.begin < done || range.end < range.begin || range.end > text.size()) {
      fail<ValueError>("bytes {}..{} are not a range of a text of {} bytes", range.begin, range.end,
                       text.size());
    }
    done = range.end;
  }
}

void Tokenizer::encode_between(std::string_view text, std::size_t begin, std::size_t end,
                               std::vector<TokenId>& out) const {
  if (begin >= end) return;
  const std::string_view stretch = text.substr(begin, end - begin);
  begin == 0 ? encode_first_stretch(stretch, out) : encode_stretch(stretch, out);
}

void Tokenizer::encode_text(std::string_view text, const EncodeOptions& options,
                            std::vector<TokenId>& ids) const {
  check_text(text, options);
  SpaceAbsorber spaces(text);
  std::size_t done = 0;
  for (const SpecialMatch& found : find_special(text, options)) {
    const auto [begin, end] =
        spaces.around(found.begin, found.end, done, vocabulary_->strips_left(found.id),
                      vocabulary_->strips_right(found.id));
    encode_between(text, done, begin, ids);
    if (end > begin) ids.push_back(found.id);
    done = end;
  }
  encode_between(text, done, text.size(), ids);
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  for (const FormPart& part : vocabulary_->forms().single) {
    if (part.what == FormPart::What::first) {
      encode_text(text, options, ids);
    } else if (options.add_special) {
      ids.push_back(part.id);
    }
  }
  return ids;
}

TypedTokens Tokenizer::fill(const TextForm& form, std::string_view first,
                            std::string_view second) const {
  TypedTokens tokens;
  for (const FormPart& part : form) {
    if (part.what == FormPart::What::token) {
      tokens.ids.push_back(part.id);
    } else {
      encode_text(part.what == FormPart::What::first ? first : second, {}, tokens.ids);
    }
    tokens.types.resize(tokens.ids.size(), part.type);
  }
  if (std::ranges::all_of(tokens.types, [](std::int32_t type) { return type == 0; }))
    tokens.types.clear();
  return tokens;
}

TypedTokens Tokenizer::encode_typed(std::string_view text) const {
  return fill(vocabulary_->forms().single, text, {});
}

TypedTokens Tokenizer::encode_pair(std::string_view first, std::string_view second) const {
  if (vocabulary_->forms().no_pair)
    fail<UnsupportedError>("the tokenizer has no form for pairs of texts");
  return fill(vocabulary_->forms().pair, first, second);
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
