#pragma once
// Tokens of texts, where a passage is found by its end.

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/tokenize/text_form.h"

namespace weft::serve {

class Passages {
 public:
  // REQUIRES: size > 0. Passages of fewer tokens are not found.
  explicit Passages(std::size_t size) : size_(size) {}

  void add(TokenId token);  // kNoToken: another text begins
  void clear();
  std::span<const TokenId> tokens() const { return tokens_; }

  struct Found {
    std::size_t end = 0;  // the index of the token after the passage
    std::size_t length = 0;
  };
  // The longest of the latest passages that end as `text` does and that tokens follow: 0 tokens if
  // there is none.
  Found longest(std::span<const TokenId> text) const;

 private:
  std::size_t size_;
  std::vector<TokenId> tokens_;
  // Where the same `size` tokens ended before those that end with a token; 0: nowhere.
  std::vector<std::uint32_t> previous_;
  std::unordered_map<std::uint64_t, std::uint32_t> last_;  // by the hash of `size` tokens
};

// Texts that ended, until there are too many tokens; then it begins anew.
class KeptTexts {
 public:
  explicit KeptTexts(std::size_t size) : passages_(size) {}
  // A text that begins with all of the last one, as the next turn of a conversation does, replaces
  // it.
  void add(std::span<const TokenId> text);
  const Passages& passages() const { return passages_; }

 private:
  Passages passages_;
  std::size_t start_ = 0;  // where the last text begins
};

// The kept texts of each owner: no look-up of one finds a passage of another. Only the owners
// that asked last keep theirs.
class OwnedTexts {
 public:
  explicit OwnedTexts(std::size_t size) : size_(size) {}
  std::shared_ptr<KeptTexts> of(std::string_view owner);

 private:
  std::size_t size_;
  std::list<std::pair<std::string, std::shared_ptr<KeptTexts>>> owners_;  // the latest first
};

}  // namespace weft::serve
