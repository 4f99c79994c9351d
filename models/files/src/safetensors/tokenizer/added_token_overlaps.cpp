#include "safetensors/tokenizer/added_token_overlaps.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace weft::safetensors {
namespace {

// Runs of one character overlap without harm: the longest that fits is the leftmost, too.
bool is_run(std::string_view text) {
  return text.find_first_not_of(text[0]) == text.npos;
}

class SortedTexts {
 public:
  void add(std::string_view text) { texts_.push_back(text); }
  void sort() {
    std::ranges::sort(texts_);
    const auto repeated = std::ranges::unique(texts_);
    texts_.erase(repeated.begin(), repeated.end());
  }
  // Whether a text other than `but` begins with `prefix`.
  bool any_begins_with(std::string_view prefix, std::string_view but) const {
    for (auto at = std::ranges::lower_bound(texts_, prefix);
         at != texts_.end() && at->starts_with(prefix); ++at)
      if (*at != but || !is_run(but)) return true;
    return false;
  }
  // Whether `text` has one of the texts at byte `at`.
  bool any_at(std::string_view text, std::size_t at) const {
    for (std::size_t n = 1; n <= text.size() - at; ++n)
      if (std::ranges::binary_search(texts_, text.substr(at, n))) return true;
    return false;
  }

 private:
  std::vector<std::string_view> texts_;
};

}  // namespace

bool order_matters(std::span<const AddedToken> added, std::span<const std::string> texts) {
  // Longer ones are not worth the search.
  constexpr std::size_t kMaxLength = 256, kMaxBytes = std::size_t{1} << 18;
  std::size_t n_bytes = 0;
  const auto text_of = [&](const AddedToken& token) {
    return std::string_view(texts[static_cast<std::size_t>(token.id)]);
  };
  SortedTexts all, raw;
  for (const AddedToken& token : added) {
    n_bytes += text_of(token).size();
    if (text_of(token).size() > kMaxLength || n_bytes > kMaxBytes) return true;
    all.add(text_of(token));
    if (!token.normalized) raw.add(text_of(token));
  }
  all.sort();
  raw.sort();
  return std::ranges::any_of(added, [&](const AddedToken& token) {
    const std::string_view text = text_of(token);
    for (std::size_t at = 1; at < text.size(); ++at)
      if (all.any_begins_with(text.substr(at), text)) return true;
    for (std::size_t at = 0; token.normalized && at < text.size(); ++at)
      if (raw.any_at(text, at)) return true;
    return false;
  });
}

}  // namespace weft::safetensors
