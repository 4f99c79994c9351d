#pragma once
// Finds the tokens that are matched in a text as they stand. Longer tokens go first wherever they
// are, equally long ones from left to right; a byte belongs to one token at most.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "weft/tokenize/vocabulary.h"

namespace weft::tokenize {

// The bytes begin .. end - 1 of a text are token `id`.
struct SpecialMatch {
  std::size_t begin;
  std::size_t end;
  TokenId id;
};

class SpecialSplitter {
 public:
  // Longer tokens are never matched: they bound the work per byte of text.
  static constexpr std::size_t kMaxLength = 1024;

  // `ids` of tokens of `vocabulary`, which must outlive the splitter. Empty and too long texts are
  // left out.
  SpecialSplitter(const Vocabulary& vocabulary, std::span<const TokenId> ids);

  // In the order of the text.
  std::vector<SpecialMatch> find(std::string_view text) const;

 private:
  struct Match {
    std::size_t length = 0;  // 0: none
    TokenId id = kNoToken;
  };
  // The longest token of at most `limit` bytes that starts at byte `at`.
  Match longest(std::string_view text, std::size_t at, std::size_t limit) const;

  const Vocabulary& vocabulary_;
  std::vector<TokenId> sorted_;     // by text
  std::vector<std::size_t> first_;  // [257] where the texts with each first byte begin in sorted_
  std::size_t max_length_ = 0;
};

}  // namespace weft::tokenize
