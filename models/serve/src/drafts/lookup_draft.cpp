#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/hash.h"
#include "weft/serve/draft.h"
#include "weft/tokenize/vocabulary.h"

namespace weft {
namespace {

constexpr std::size_t kMaxHistory = std::size_t{1} << 20;  // tokens; then it starts anew
constexpr std::size_t kMaxPassages = 32;                   // that are compared, the latest ones
constexpr std::size_t kLongest = 64;                       // longer passages are as good

std::uint64_t hash_of(std::span<const TokenId> tokens) {
  Fnv1a64 hash;
  hash.add(std::as_bytes(tokens));
  return hash.value();
}

}  // namespace

LookupDraft::LookupDraft(std::size_t size) : size_(size) {
  if (size == 0) fail<ValueError>("a look-up needs at least one token");
}

void LookupDraft::begin() {
  is_new_ = true;
}

// Appends what the history lacks of the text. A text that begins with all of the last one, as the
// next turn of a conversation does, continues it.
void LookupDraft::read(std::span<const TokenId> tokens) {
  if (std::exchange(is_new_, false)) {
    const auto before = std::span(history_).subspan(start_);
    const bool continues =
        before.size() <= tokens.size() && std::ranges::equal(before, tokens.first(before.size()));
    if (!continues && history_.size() + tokens.size() > kMaxHistory) {
      history_.clear(), previous_.clear(), last_.clear();
      start_ = 0;
    } else if (!continues) {
      history_.push_back(kNoToken);
      previous_.push_back(0);
      start_ = history_.size();
    }
  }
  for (std::size_t i = history_.size() - start_; i < tokens.size(); ++i) {
    history_.push_back(tokens[i]);
    previous_.push_back(0);
    if (history_.size() - start_ < size_) continue;
    std::uint32_t& last = last_[hash_of(std::span(history_).last(size_))];
    previous_.back() = std::exchange(last, static_cast<std::uint32_t>(history_.size() - 1));
  }
}

// Where the passage ends; 0: there is none.
std::size_t LookupDraft::longest_match() const {
  const std::span<const TokenId> all = history_;
  std::size_t best = 0, longest = size_ - 1, n = 0;
  for (std::size_t end = previous_.back(); end > 0 && n < kMaxPassages; end = previous_[end], ++n) {
    const std::size_t max = std::min({end + 1, all.size() - start_, kLongest});
    if (all[end + 1] == kNoToken) continue;  // the text ended there
    std::size_t length = 0;
    while (length < max && all[end - length] == all[all.size() - 1 - length]) ++length;
    if (length > longest) longest = length, best = end;
  }
  return best;
}

void LookupDraft::propose(const DraftRequest& request, std::vector<TokenId>& guesses) {
  read(request.tokens);
  if (request.tokens.size() < size_) return;
  const std::size_t end = longest_match();
  if (end == 0) return;
  const std::size_t first = guesses.size();
  for (std::size_t i = 0; i < request.max; ++i) {
    const std::size_t at = end + 1 + i;
    const TokenId id = at < history_.size() ? history_[at] : guesses[first + at - history_.size()];
    if (id == kNoToken) return;  // the earlier text ended here
    guesses.push_back(id);
  }
}

}  // namespace weft
