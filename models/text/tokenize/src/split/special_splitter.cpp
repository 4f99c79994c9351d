#include "split/special_splitter.h"

#include <algorithm>
#include <utility>

namespace weft::tokenize {

SpecialSplitter::SpecialSplitter(const Vocabulary& vocabulary, std::span<const TokenId> ids) {
  std::vector<ByteTrie::Entry> entries;
  for (const TokenId id : ids) {
    const std::string_view text = vocabulary.text(id);
    // Among tokens with the same text, only the one that Vocabulary::find() returns is matched.
    if (vocabulary.find(text) == id) entries.emplace_back(text, id);
  }
  tokens_ = ByteTrie(std::move(entries));
}

std::vector<SpecialMatch> SpecialSplitter::find(std::string_view text) const {
  std::vector<SpecialMatch> found;
  const std::size_t max_length = tokens_.max_length();
  if (max_length == 0) return found;
  std::vector<std::vector<SpecialMatch>> by_length(max_length + 1);
  bool any = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const ByteTrie::Match match = longest(text, at, max_length);
    if (match.length == 0) continue;
    by_length[match.length].push_back({at, at + match.length, match.value});
    any = true;
  }
  if (!any) return found;

  std::vector<bool> taken(text.size(), false);
  for (std::size_t length = max_length; length > 0; --length) {
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
      } else if (const ByteTrie::Match shorter = longest(text, candidate.begin, length - 1);
                 shorter.length > 0) {
        by_length[shorter.length].push_back(
            {candidate.begin, candidate.begin + shorter.length, shorter.value});
      }
    }
    candidates = {};
  }
  std::sort(found.begin(), found.end(),
            [](const SpecialMatch& a, const SpecialMatch& b) { return a.begin < b.begin; });
  return found;
}

}  // namespace weft::tokenize
