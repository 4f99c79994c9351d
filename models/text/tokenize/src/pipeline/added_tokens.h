#pragma once
// Finds the added tokens of a pipeline in a text: the leftmost first, of several that begin at one
// place the longest.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/tokenize/pipeline.h"
#include "weft/tokenize/vocabulary.h"

#include "byte_trie.h"

namespace weft::tokenize {

class AddedTokens {
 public:
  using Entry = std::pair<std::string, AddedToken>;  // the text that is looked for

  AddedTokens() = default;
  explicit AddedTokens(std::vector<Entry> entries);

  // A part of a text: a token, or text between tokens (kNoToken).
  struct Part {
    std::size_t begin = 0, end = 0;
    TokenId id = kNoToken;
  };
  // Tokens in the bytes begin .. end - 1 of `text`, in order, for parts().
  void find(std::string_view text, std::size_t begin, std::size_t end,
            std::vector<Part>& found) const;
  // The parts of `text`, in order, between and including the tokens that find() found. White space
  // that a token absorbs belongs to it. Empty texts between tokens are left out.
  std::vector<Part> parts(std::string_view text, std::span<const Part> found) const;
  std::vector<Part> split(std::string_view text) const {
    std::vector<Part> found;
    find(text, 0, text.size(), found);
    return parts(text, found);
  }
  bool empty() const { return entries_.empty(); }

 private:
  std::vector<Entry> entries_;  // by id
  ByteTrie trie_;               // indices of entries_
};

}  // namespace weft::tokenize
