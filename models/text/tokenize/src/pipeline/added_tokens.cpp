#include "pipeline/added_tokens.h"

#include <algorithm>
#include <string_view>

#include "weft/base/error.h"
#include "weft/base/keyed_hash.h"

#include "pipeline/text_patterns.h"

namespace weft::tokenize {

AddedTokens::AddedTokens(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::ranges::sort(entries_, {}, [](const Entry& one) { return one.second.id; });
  std::vector<ByteTrie::Entry> texts;
  ForeignSet<std::string_view> seen;  // of equal texts, the first id counts
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto& [text, token] = entries_[i];
    if (text.size() > ByteTrie::kMaxLength)
      fail<FormatError>("the added token {} has {} bytes, at most {} are supported", token.id,
                        text.size(), ByteTrie::kMaxLength);
    if (seen.insert(text).second) texts.emplace_back(text, static_cast<std::int32_t>(i));
  }
  trie_ = ByteTrie(std::move(texts));
}

void AddedTokens::find(std::string_view text, std::size_t begin, std::size_t end,
                       std::vector<Part>& found) const {
  for (std::size_t at = begin; !entries_.empty() && at < end;) {
    const ByteTrie::Match match = trie_.longest_prefix(text.substr(0, end), at);
    if (match.length == 0) {
      ++at;
      continue;
    }
    const AddedToken& token = entries_[static_cast<std::size_t>(match.value)].second;
    const Part part{at, at + match.length, token.id};
    at = part.end;
    if (!token.whole_word ||
        (!ends_with_word(text.substr(0, part.begin)) && !begins_with_word(text.substr(part.end))))
      found.push_back(part);
  }
}

std::vector<AddedTokens::Part> AddedTokens::parts(std::string_view text,
                                                  std::span<const Part> found) const {
  std::vector<Part> parts;
  SpaceAbsorber spaces(text);
  std::size_t done = 0;
  for (const auto& [match_begin, match_end, id] : found) {
    const auto entry =
        std::ranges::lower_bound(entries_, id, {}, [](const Entry& one) { return one.second.id; });
    const auto [begin, end] = spaces.around(match_begin, match_end, done, entry->second.strip_left,
                                            entry->second.strip_right);
    if (begin > done) parts.push_back({done, begin, kNoToken});
    if (end > begin) parts.push_back({begin, end, id});
    done = end;
  }
  if (done < text.size()) parts.push_back({done, text.size(), kNoToken});
  return parts;
}

}  // namespace weft::tokenize
