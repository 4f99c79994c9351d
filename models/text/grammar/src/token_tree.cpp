#include <algorithm>
#include <numeric>

#include "weft/grammar/token_constraint.h"

namespace weft {

TokenTree::TokenTree(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  n_tokens_ = vocabulary.size();
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < n_tokens_; ++id) {
    if (vocabulary.ends_generation(id)) {
      ends_.push_back(id);
    } else if (!tokenizer.hidden(id) && !tokenizer.bytes(id).empty()) {
      ids.push_back(id);
    }
  }
  std::sort(ids.begin(), ids.end(), [&](TokenId a, TokenId b) {
    const std::string_view x = tokenizer.bytes(a), y = tokenizer.bytes(b);
    return x != y ? x < y : a < b;
  });
  // Sorted texts share their beginnings with their neighbours: the open nodes are those of the text
  // before.
  std::vector<std::uint32_t> open;
  std::string_view before;
  for (const TokenId id : ids) {
    const std::string_view text = tokenizer.bytes(id);
    const auto common = static_cast<std::size_t>(
        std::mismatch(text.begin(), text.end(), before.begin(), before.end()).first - text.begin());
    const auto end = static_cast<std::uint32_t>(byte_.size());
    for (; open.size() > common; open.pop_back()) subtree_end_[open.back()] = end;
    for (std::size_t i = common; i < text.size(); ++i) {
      open.push_back(static_cast<std::uint32_t>(byte_.size()));
      byte_.push_back(static_cast<std::uint8_t>(text[i]));
      depth_.push_back(static_cast<std::uint32_t>(i + 1));
      subtree_end_.push_back(0);
      first_.push_back(static_cast<std::uint32_t>(tokens_.size()));
    }
    max_depth_ = std::max(max_depth_, static_cast<std::uint32_t>(text.size()));
    tokens_.push_back(id);
    before = text;
  }
  for (const std::uint32_t node : open)
    subtree_end_[node] = static_cast<std::uint32_t>(byte_.size());
  first_.push_back(static_cast<std::uint32_t>(tokens_.size()));
}

}  // namespace weft
