#include "drafts/passages.h"

#include <algorithm>
#include <utility>

#include "weft/base/keyed_hash.h"
#include "weft/tokenize/vocabulary.h"

namespace weft::serve {
namespace {

constexpr std::size_t kMaxKept = std::size_t{1} << 16;  // tokens of texts that ended
constexpr std::size_t kMaxOwners = 8;                   // whose texts are kept, 3 MB each
constexpr std::size_t kMaxCompared = 32;                // passages, the latest ones
constexpr std::size_t kLongest = 64;                    // longer passages are as good

std::uint64_t hash_of(std::span<const TokenId> tokens) {
  return keyed_hash({reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes()});
}

}  // namespace

void Passages::add(TokenId token) {
  tokens_.push_back(token);
  previous_.push_back(0);
  if (tokens_.size() < size_ || token == kNoToken) return;
  std::uint32_t& last = last_[hash_of(std::span(tokens_).last(size_))];
  previous_.back() = std::exchange(last, static_cast<std::uint32_t>(tokens_.size()));
}

void Passages::clear() {
  tokens_.clear();
  previous_.clear();
  last_.clear();
}

Passages::Found Passages::longest(std::span<const TokenId> text) const {
  if (text.size() < size_) return {};
  const auto last = last_.find(hash_of(text.last(size_)));
  if (last == last_.end()) return {};
  Found best{.length = size_ - 1};
  std::size_t n = 0;
  for (std::size_t end = last->second; end > 0 && n < kMaxCompared; end = previous_[end - 1], ++n) {
    if (end == tokens_.size() || tokens_[end] == kNoToken) continue;  // nothing follows
    const std::size_t max = std::min({end, text.size(), kLongest});
    std::size_t length = 0;
    while (length < max && tokens_[end - 1 - length] == text[text.size() - 1 - length]) ++length;
    if (length > best.length) best = {end, length};
  }
  return best.end > 0 ? best : Found{};
}

void KeptTexts::add(std::span<const TokenId> text) {
  const auto before = passages_.tokens().subspan(start_);
  const bool continues =
      before.size() <= text.size() && std::ranges::equal(before, text.first(before.size()));
  std::size_t n_known = continues ? before.size() : 0;
  if (passages_.tokens().size() + text.size() - n_known > kMaxKept) {
    passages_.clear();
    n_known = start_ = 0;
  } else if (!continues) {
    passages_.add(kNoToken);
    start_ = passages_.tokens().size();
  }
  text = text.last(std::min(text.size() - n_known, kMaxKept));
  for (const TokenId id : text) passages_.add(id);
}

std::shared_ptr<KeptTexts> OwnedTexts::of(std::string_view owner) {
  const auto found =
      std::ranges::find_if(owners_, [&](const auto& entry) { return entry.first == owner; });
  if (found != owners_.end()) {
    owners_.splice(owners_.begin(), owners_, found);
  } else {
    owners_.emplace_front(owner, std::make_shared<KeptTexts>(size_));
    if (owners_.size() > kMaxOwners) owners_.pop_back();
  }
  return owners_.front().second;
}

}  // namespace weft::serve
