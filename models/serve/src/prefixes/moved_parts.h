#pragma once
// Parts of a text that are held somewhere at any position.

#include <cstdint>
#include <span>
#include <vector>

namespace weft::serve {

// Ids that a sequence holds from position `begin` on.
struct HeldIds {
  std::int32_t sequence = 0;
  std::int64_t begin = 0;
  std::vector<std::int32_t> ids;
};

// n tokens of a text, from position `at` on, are those of a sequence from `begin` on.
struct MovedPart {
  std::int64_t at = 0;
  std::int32_t sequence = -1;
  std::int64_t begin = 0, n = 0;
};

// Runs of at least `min_tokens` of the ids, from position `from` on, that are held: in order, none
// begins before the end of another one, and where several begin the longest was taken. Takes time
// for the length of all ids together; of tokens that occur very often, some may not be found.
// REQUIRES: min_tokens > 0.
std::vector<MovedPart> find_moved_parts(std::span<const std::int32_t> ids, std::int64_t from,
                                        std::int64_t min_tokens, std::span<const HeldIds> held);

}  // namespace weft::serve
