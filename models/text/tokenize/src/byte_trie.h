#pragma once
// A trie of strings by their bytes: finds those that start at a position of a text. Compact (about
// ten bytes per node), without pointers; immutable after construction.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::tokenize {

class ByteTrie {
 public:
  using Entry = std::pair<std::string_view, std::int32_t>;  // a string and its value, >= 0

  struct Match {
    std::size_t length = 0;  // 0: none
    std::int32_t value = -1;
  };

  ByteTrie() : ByteTrie(std::vector<Entry>()) {}
  // Longer strings are ignored, to bound the work per byte of a text.
  static constexpr std::size_t kMaxLength = 1024;

  // Among equal strings, the one with the highest value counts; empty ones are ignored. The strings
  // need not outlive the constructor.
  explicit ByteTrie(std::vector<Entry> entries);

  // visit(length, value) for every string that `text` has at byte `at`, the shortest first.
  template <class Visit>
  void for_each_prefix(std::string_view text, std::size_t at, Visit visit) const {
    std::uint32_t node = 0;
    for (std::size_t i = at; i < text.size(); ++i) {
      node = child(node, static_cast<std::uint8_t>(text[i]));
      if (node == 0) return;
      if (values_[node] >= 0) visit(i + 1 - at, values_[node]);
    }
  }
  Match longest_prefix(std::string_view text, std::size_t at) const {
    Match best;
    for_each_prefix(text, at, [&](std::size_t length, std::int32_t value) {
      best = {length, value};
    });
    return best;
  }
  std::size_t max_length() const { return max_length_; }
  std::size_t n_too_long() const { return n_too_long_; }

 private:
  // 0, the root, if there is none.
  std::uint32_t child(std::uint32_t node, std::uint8_t byte) const {
    if (node == 0) return roots_[byte];
    const std::uint32_t begin = children_[node];
    const std::size_t n = children_[node + 1] - begin;
    if (n == 0) return 0;
    const std::uint8_t* labels = labels_.data() + begin;
    const void* found = std::memchr(labels, byte, n);
    return found == nullptr
               ? 0
               : begin +
                     static_cast<std::uint32_t>(static_cast<const std::uint8_t*>(found) - labels);
  }

  // Nodes are numbered level by level, so the children of one lie side by side.
  std::vector<std::uint32_t> children_;  // [nodes + 1] the first child of each
  std::vector<std::uint8_t> labels_;     // [nodes] the byte that leads to it
  std::vector<std::int32_t> values_;     // [nodes] -1: no string ends here
  std::array<std::uint32_t, 256> roots_{};
  std::size_t max_length_ = 0;
  std::size_t n_too_long_ = 0;
};

}  // namespace weft::tokenize
