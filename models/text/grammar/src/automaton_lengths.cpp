// How long the texts of an automaton are.

#include <algorithm>

#include "automaton.h"
#include "compile_work.h"

namespace weft::grammar {

std::pair<std::uint64_t, std::uint64_t> Dfa::length_bounds() const {
  return empty() ? std::pair(kUnbounded, kUnbounded) : std::pair(shortest(), longest());
}

std::uint64_t Dfa::shortest() const {
  CompileWork::add(table_.size());
  std::vector<bool> seen(size());
  std::vector<State> layer{start_};
  for (std::uint64_t length = 0;; ++length) {
    std::vector<State> following;
    for (const State s : layer) {
      if (accepts_[s]) return length;
      for (std::size_t c = 0; c < borders_.size(); ++c) {
        const State to = next(s, c);
        if (to != kDead && !seen[to]) seen[to] = true, following.push_back(to);
      }
    }
    layer = std::move(following);
  }
}

// Depth-first search. Every state can reach acceptance, so a cycle means that texts have no maximum
// length.
std::uint64_t Dfa::longest() const {
  enum : std::uint8_t { kNew, kOnTheWay, kDone };
  CompileWork::add(table_.size());
  std::vector<std::uint8_t> seen(size(), kNew);
  std::vector<std::uint64_t> length(size(), 0);
  std::vector<std::pair<State, std::size_t>> way{{start_, 0}};
  seen[start_] = kOnTheWay;
  while (!way.empty()) {
    auto& [s, c] = way.back();
    if (c == borders_.size()) {
      seen[s] = kDone;
      way.pop_back();
      continue;
    }
    const State to = next(s, c);
    if (to == kDead) {
      ++c;
    } else if (seen[to] == kOnTheWay) {
      return kUnbounded;
    } else if (seen[to] == kDone) {
      length[s] = std::max(length[s], length[to] + 1);
      ++c;
    } else {
      seen[to] = kOnTheWay;
      way.push_back({to, 0});
    }
  }
  return length[start_];
}

}  // namespace weft::grammar
