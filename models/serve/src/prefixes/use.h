#pragma once
// How often kept tokens were used.

#include <cstdint>
#include <utility>

namespace weft::serve {

// How often tokens were used again, and what that makes them worth (prefix_worth.h).
struct Use {
  std::int64_t hits = 0;
  double worth = 0;
  std::uint64_t at = 0;  // uses of any tokens before this one

  bool is_worth_less(const Use& than) const {
    return std::pair(worth, at) < std::pair(than.worth, than.at);
  }
};

}  // namespace weft::serve
