#include "byte_trie.h"

#include <algorithm>

namespace weft::tokenize {

ByteTrie::ByteTrie(std::vector<Entry> entries) {
  std::erase_if(entries, [](const Entry& entry) { return entry.first.empty(); });
  n_too_long_ =
      std::erase_if(entries, [](const Entry& entry) { return entry.first.size() > kMaxLength; });
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  const auto same_text = [](const Entry& a, const Entry& b) { return a.first == b.first; };
  entries.erase(std::unique(entries.begin(), entries.end(), same_text), entries.end());

  // The entries that go through a node: they agree in its first `depth` bytes.
  struct Range {
    std::size_t begin, end;
  };
  std::vector<Range> level = {{0, entries.size()}};
  labels_.push_back(0);
  values_.push_back(-1);
  for (std::size_t depth = 0; !level.empty(); ++depth) {
    std::vector<Range> next;
    for (auto [at, end] : level) {
      children_.push_back(static_cast<std::uint32_t>(labels_.size()));
      while (at < end && entries[at].first.size() == depth) ++at;  // the one that ends here
      while (at < end) {
        const char byte = entries[at].first[depth];
        const std::size_t begin = at;
        while (at < end && entries[at].first[depth] == byte) ++at;
        const bool ends = entries[begin].first.size() == depth + 1;
        labels_.push_back(static_cast<std::uint8_t>(byte));
        values_.push_back(ends ? entries[begin].second : -1);
        next.push_back({begin, at});
      }
    }
    if (!next.empty()) max_length_ = depth + 1;
    level = std::move(next);
  }
  children_.push_back(static_cast<std::uint32_t>(labels_.size()));
  for (std::uint32_t node = children_[0]; node < children_[1]; ++node) roots_[labels_[node]] = node;
}

}  // namespace weft::tokenize
