#include "prefixes/moved_parts.h"

#include <algorithm>
#include <unordered_map>

namespace weft::serve {
namespace {

// How many runs that begin at the same token are compared: texts of one token repeated have as many
// as they are long.
constexpr int kMaxCompared = 64;

// Calls f(begin, hash) for each run of `width` ids. The hash is a polynomial modulo 2^64.
template <class F>
void for_each_run(std::span<const std::int32_t> ids, std::size_t width, F f) {
  constexpr std::uint64_t kBase = 0x9E3779B97F4A7C15;
  if (ids.size() < width) return;
  std::uint64_t hash = 0, leaving = 1;
  for (std::size_t i = 1; i < width; ++i) leaving *= kBase;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto value = [&](std::size_t at) { return static_cast<std::uint64_t>(ids[at]) + 1; };
    if (i >= width) hash -= value(i - width) * leaving;
    hash = hash * kBase + value(i);
    if (i + 1 >= width) f(i + 1 - width, hash);
  }
}

}  // namespace

MovedPart find_moved_part(std::span<const std::int32_t> ids, std::int64_t from,
                          std::int64_t min_tokens, std::span<const HeldIds> held) {
  const auto width = static_cast<std::size_t>(min_tokens);
  const auto rest = ids.subspan(static_cast<std::size_t>(std::min(from, std::ssize(ids))));
  std::unordered_map<std::uint64_t, std::size_t> first_run;  // by hash; counted from `from`
  for_each_run(rest, width,
               [&](std::size_t at, std::uint64_t hash) { first_run.try_emplace(hash, at); });
  MovedPart best{.at = std::ssize(ids)};
  int n_compared = 0;
  for (const HeldIds& other : held) {
    for_each_run(other.ids, width, [&](std::size_t begin, std::uint64_t hash) {
      const auto found = first_run.find(hash);
      if (found == first_run.end()) return;
      const std::int64_t at = from + static_cast<std::int64_t>(found->second);
      if (at > best.at || (at == best.at && n_compared >= kMaxCompared)) return;
      const auto wanted = rest.subspan(found->second);
      const auto same = std::ranges::mismatch(wanted, std::span(other.ids).subspan(begin)).in1;
      const std::int64_t n = same - wanted.begin();
      n_compared = at == best.at ? n_compared + 1 : 1;
      if (n < min_tokens || (at == best.at && n <= best.n)) return;
      best = {at, other.sequence, other.begin + static_cast<std::int64_t>(begin), n};
    });
  }
  return best;
}

}  // namespace weft::serve
