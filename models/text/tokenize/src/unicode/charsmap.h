#pragma once
// The precompiled table by which SentencePiece models normalize a text (tokenizer.ggml.
// precompiled_charsmap): the longest known string at a place is replaced by another one. Form: the
// bytes of a double-array trie, little-endian (https://github.com/s-yata/darts-clone), with its
// size before it, and the replacements, each followed by a NUL.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tokenize/space_symbol.h"

namespace weft::tokenize {

class Charsmap {
 public:
  Charsmap() = default;  // replaces nothing
  // Throws FormatError for sizes that do not fit and replacements longer than kMaxLength bytes.
  explicit Charsmap(std::string_view blob);

  static constexpr std::size_t kMaxLength = 1024;

  struct Match {
    std::size_t length = 0;  // bytes of the text; 0: none
    std::string_view replacement;
  };
  // The longest known string that starts at byte `at`. Throws FormatError if the trie points
  // beyond itself.
  Match longest(std::string_view text, std::size_t at) const { return find(text, at, false); }
  // The shortest known string that `text` begins with. Throws likewise.
  Match shortest(std::string_view text) const { return find(text, 0, true); }
  bool empty() const { return units_.empty(); }

 private:
  Match find(std::string_view text, std::size_t at, bool shortest) const;
  std::uint32_t unit(std::size_t i) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

struct SentencePieceRules {
  bool space_prefix = false;         // a space goes before the text
  bool remove_extra_spaces = false;  // none at both ends, one between words
  bool continues = false;            // the text follows another: one of the spaces before it stays
};

// Normalizes a text like a SentencePiece model: replaces characters, bytes that are not UTF-8
// become U+FFFD, spaces become U+2581. Throws ValueError if the result is longer than `limit`
// bytes, because a table may make a text a thousand times longer.
std::string normalize(const Charsmap& charsmap, const SentencePieceRules& rules,
                      std::string_view text, std::size_t limit = kMaxText);

}  // namespace weft::tokenize
