#include "prefixes/moved_parts.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace weft::serve {
namespace {

// How many places of the text one run of another text is compared with: texts of one token repeated
// have as many as they are long.
constexpr int kMaxPlaces = 16;
// How many ids are compared for each one of all texts together.
constexpr std::size_t kCompared = 32;

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

// The places of each run of `width` ids in a text, by hash.
class Places {
 public:
  Places(std::span<const std::int32_t> ids, std::size_t width) : next_(ids.size(), -1) {
    for_each_run(ids, width, [&](std::size_t at, std::uint64_t hash) {
      const auto [first, is_new] = first_.try_emplace(hash, Chain{at, at, 1});
      if (is_new || ++first->second.n > kMaxPlaces) return;
      next_[std::exchange(first->second.last, at)] = static_cast<std::ptrdiff_t>(at);
    });
  }
  template <class F>
  void for_each(std::uint64_t hash, F f) const {
    const auto found = first_.find(hash);
    if (found == first_.end()) return;
    for (auto at = static_cast<std::ptrdiff_t>(found->second.first); at >= 0;
         at = next_[static_cast<std::size_t>(at)])
      f(static_cast<std::size_t>(at));
  }

 private:
  struct Chain {
    std::size_t first, last;
    int n;
  };
  std::unordered_map<std::uint64_t, Chain> first_;
  std::vector<std::ptrdiff_t> next_;  // by place; -1: it is the last one
};

// All runs of the text that others have, each once, by where they begin.
std::vector<MovedPart> all_runs(std::span<const std::int32_t> ids, std::size_t width,
                                std::span<const HeldIds> held) {
  const Places places(ids, width);
  std::vector<MovedPart> runs;
  std::size_t budget = kCompared * ids.size();  // ids that may be compared
  for (const HeldIds& other : held) budget += kCompared * other.ids.size();
  for (const HeldIds& other : held) {
    std::unordered_map<std::ptrdiff_t, std::size_t> end_of;  // by distance: the last run's end
    for_each_run(other.ids, width, [&](std::size_t begin, std::uint64_t hash) {
      places.for_each(hash, [&](std::size_t at) {
        std::size_t& end = end_of[static_cast<std::ptrdiff_t>(at - begin)];
        if (at < end || budget == 0) return;  // a part of that run
        const auto wanted = ids.subspan(at);
        const auto same = std::ranges::mismatch(wanted, std::span(other.ids).subspan(begin)).in1;
        const auto n = static_cast<std::size_t>(same - wanted.begin());
        budget -= std::min(budget, n + 1);
        if (n < width) return;
        end = at + n;
        runs.push_back({static_cast<std::int64_t>(at), other.sequence,
                        other.begin + static_cast<std::int64_t>(begin),
                        static_cast<std::int64_t>(n)});
      });
    });
  }
  std::ranges::stable_sort(runs, {}, &MovedPart::at);
  return runs;
}

}  // namespace

std::vector<MovedPart> find_moved_parts(std::span<const std::int32_t> ids, std::int64_t from,
                                        std::int64_t min_tokens, std::span<const HeldIds> held) {
  if (min_tokens > std::ssize(ids) - from) return {};
  const auto rest = ids.subspan(static_cast<std::size_t>(from));
  const auto runs = all_runs(rest, static_cast<std::size_t>(min_tokens), held);
  std::vector<MovedPart> parts;
  std::int64_t end = 0;  // where the last part ends
  std::size_t i = 0;
  std::vector<MovedPart> open;  // those that begin before `end` and go on behind it
  while (true) {
    for (; i < runs.size() && runs[i].at <= end; ++i) open.push_back(runs[i]);
    std::erase_if(open, [&](const MovedPart& run) { return run.at + run.n - end < min_tokens; });
    if (open.empty() && i == runs.size()) return parts;
    if (open.empty()) {
      end = runs[i].at;
      continue;
    }
    MovedPart best =
        *std::ranges::max_element(open, {}, [](const MovedPart& run) { return run.at + run.n; });
    const std::int64_t cut = end - best.at;
    parts.push_back({from + end, best.sequence, best.begin + cut, best.n - cut});
    end = best.at + best.n;
  }
}

}  // namespace weft::serve
