#include "split/special_splitter.h"

#include <algorithm>
#include <cstdint>

namespace weft::tokenize {

SpecialSplitter::SpecialSplitter(const Vocabulary& vocabulary, std::span<const TokenId> ids)
    : vocabulary_(vocabulary) {
  for (const TokenId id : ids) {
    const std::string_view text = vocabulary.text(id);
    // Among tokens with the same text, only the one that Vocabulary::find() returns is matched.
    if (text.empty() || text.size() > kMaxLength || vocabulary.find(text) != id) continue;
    sorted_.push_back(id);
    max_length_ = std::max(max_length_, text.size());
  }
  std::sort(sorted_.begin(), sorted_.end(),
            [&](TokenId a, TokenId b) { return vocabulary.text(a) < vocabulary.text(b); });
  first_.assign(257, sorted_.size());
  for (std::size_t i = sorted_.size(); i-- > 0;) {
    first_[static_cast<std::uint8_t>(vocabulary.text(sorted_[i])[0])] = i;
  }
  for (std::size_t byte = 256; byte-- > 0;) first_[byte] = std::min(first_[byte], first_[byte + 1]);
}

SpecialSplitter::Match SpecialSplitter::longest(std::string_view text, std::size_t at,
                                                std::size_t limit) const {
  const auto head = static_cast<std::uint8_t>(text[at]);
  auto low = sorted_.begin() + static_cast<std::ptrdiff_t>(first_[head]);
  auto high = sorted_.begin() + static_cast<std::ptrdiff_t>(first_[head + 1u]);
  Match best;
  // [low, high) holds the tokens that agree with the text in `depth` bytes; one that ends there
  // sorts first.
  for (std::size_t depth = 1; low != high && depth <= limit; ++depth) {
    if (vocabulary_.text(*low).size() == depth) {
      best = {depth, *low};
      ++low;
    }
    if (at + depth >= text.size()) break;
    const auto next = static_cast<std::uint8_t>(text[at + depth]);
    const auto byte_at = [&](TokenId id) {
      return static_cast<std::uint8_t>(vocabulary_.text(id)[depth]);
    };
    low = std::partition_point(low, high, [&](TokenId id) { return byte_at(id) < next; });
    high = std::partition_point(low, high, [&](TokenId id) { return byte_at(id) == next; });
  }
  return best;
}

std::vector<SpecialMatch> SpecialSplitter::find(std::string_view text) const {
  std::vector<SpecialMatch> found;
  if (sorted_.empty()) return found;
  std::vector<std::vector<SpecialMatch>> by_length(max_length_ + 1);
  bool any = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const Match match = longest(text, at, max_length_);
    if (match.length == 0) continue;
    by_length[match.length].push_back({at, at + match.length, match.id});
    any = true;
  }
  if (!any) return found;

  std::vector<bool> taken(text.size(), false);
  for (std::size_t length = max_length_; length > 0; --length) {
    std::vector<SpecialMatch>& candidates = by_length[length];
    std::sort(candidates.begin(), candidates.end(),
              [](const SpecialMatch& a, const SpecialMatch& b) { return a.begin < b.begin; });
    for (const SpecialMatch& candidate : candidates) {
      if (taken[candidate.begin]) continue;
      // The matches so far are at least as long as the candidate, so one that overlaps it covers
      // one of the candidate's ends.
      if (!taken[candidate.end - 1]) {
        std::fill(taken.begin() + static_cast<std::ptrdiff_t>(candidate.begin),
                  taken.begin() + static_cast<std::ptrdiff_t>(candidate.end), true);
        found.push_back(candidate);
      } else if (const Match shorter = longest(text, candidate.begin, length - 1);
                 shorter.length > 0) {
        by_length[shorter.length].push_back(
            {candidate.begin, candidate.begin + shorter.length, shorter.id});
      }
    }
    candidates = {};
  }
  std::sort(found.begin(), found.end(),
            [](const SpecialMatch& a, const SpecialMatch& b) { return a.begin < b.begin; });
  return found;
}

}  // namespace weft::tokenize
