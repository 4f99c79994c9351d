#pragma once
// Finds the tokens that are matched in a text as they stand. Longer tokens go first wherever they
// are, equally long ones from left to right; a byte belongs to one token at most.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "weft/tokenize/vocabulary.h"

#include "byte_trie.h"

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
  static constexpr std::size_t kMaxLength = ByteTrie::kMaxLength;

  // `ids` of tokens of `vocabulary`. Empty and too long texts are left out.
  SpecialSplitter(const Vocabulary& vocabulary, std::span<const TokenId> ids);

  // In the order of the text.
  std::vector<SpecialMatch> find(std::string_view text) const;

 private:
  // The longest token of at most `limit` bytes that starts at byte `at`.
  ByteTrie::Match longest(std::string_view text, std::size_t at, std::size_t limit) const {
    return tokens_.longest_prefix(text.substr(0, std::min(limit, text.size() - at) + at), at);
  }

  ByteTrie tokens_;
};

}  // namespace weft::tokenize
