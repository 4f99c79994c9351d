#include "prefixes/prefix_worth.h"

#include <algorithm>
#include <cmath>

namespace weft::serve {
namespace {

// Tokens that were used again are worth as much more than those that were not, times their uses.
constexpr double kUsedAgain = 32;
constexpr std::int64_t kMostHits = 16;

}  // namespace

Use PrefixWorth::used(std::int64_t hits, std::int64_t begin, std::int64_t end, bool is_leaf) {
  hits = std::min(hits, kMostHits);
  const auto n = static_cast<double>(std::max<std::int64_t>(end - begin, 1));
  const double of_tokens = n * bytes_.per_token;
  const double bytes = of_tokens + (is_leaf ? bytes_.per_sequence : 0);
  // In powers of two: what is measured varies, and of texts that cost about as much the one that
  // was used last is worth more.
  const double price =
      std::exp2(std::round(std::log2(price_.relative(static_cast<double>(begin + end) / 2))));
  const double weight = hits == 0 ? 1 : kUsedAgain * static_cast<double>(hits);
  return {.hits = hits,
          .worth = evicted_ + price * weight * of_tokens / std::max(bytes, 1.0),
          .at = n_uses_++};
}

std::int64_t PrefixWorth::bytes(std::int64_t n_texts, std::int64_t n_tokens) const {
  return static_cast<std::int64_t>(static_cast<double>(n_texts) * bytes_.per_sequence +
                                   static_cast<double>(n_tokens) * bytes_.per_token);
}

void PrefixWorth::evicted(const Use& use) {
  evicted_ = std::max(evicted_, use.worth);
}

}  // namespace weft::serve
