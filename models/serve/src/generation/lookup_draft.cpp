#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/hash.h"
#include "weft/serve/draft.h"

namespace weft {
namespace {

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
  n_indexed_ = 0;
  followers_.clear();
}

void LookupDraft::propose(std::span<const TokenId> tokens, std::size_t max,
                          std::vector<TokenId>& guesses) {
  if (tokens.size() <= size_) return;
  // The end of the text is not its own earlier occurrence.
  for (n_indexed_ = std::max(n_indexed_, size_); n_indexed_ < tokens.size(); ++n_indexed_)
    followers_[hash_of(tokens.subspan(n_indexed_ - size_, size_))] = n_indexed_;
  const auto end = tokens.last(size_);
  const auto found = followers_.find(hash_of(end));
  if (found == followers_.end()) return;
  const std::size_t follower = found->second;
  if (!std::ranges::equal(tokens.subspan(follower - size_, size_), end)) return;  // the same hash
  const std::size_t first = guesses.size();
  for (std::size_t i = 0; i < max; ++i) {
    const std::size_t at = follower + i;
    guesses.push_back(at < tokens.size() ? tokens[at] : guesses[first + at - tokens.size()]);
  }
}

}  // namespace weft
