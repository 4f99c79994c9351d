#include "prefixes/moved_parts.h"

#include <algorithm>
#include <bit>
#include <random>

#include <doctest/doctest.h>

using namespace weft::serve;

namespace {

// The definition: every place is compared with every other one.
MovedPart searched(const std::vector<std::int32_t>& ids, std::int64_t from, std::int64_t min_tokens,
                   const std::vector<HeldIds>& held) {
  for (std::int64_t at = from; at < std::ssize(ids); ++at) {
    MovedPart best{.at = at};
    for (const HeldIds& other : held) {
      for (std::int64_t i = 0; i < std::ssize(other.ids); ++i) {
        const auto n =
            std::mismatch(ids.begin() + at, ids.end(), other.ids.begin() + i, other.ids.end())
                .first -
            (ids.begin() + at);
        if (n >= min_tokens && n > best.n) best = {at, other.sequence, other.begin + i, n};
      }
    }
    if (best.n > 0) return best;
  }
  return {};
}

}  // namespace

TEST_CASE("parts that moved are found as by a plain search") {
  std::mt19937 random(3);
  int n_found = 0;
  for (int round = 0; round < 400; ++round) {
    const auto text = [&](std::size_t n) {
      std::vector<std::int32_t> ids(n);
      for (auto& id : ids) id = static_cast<std::int32_t>(random() % (round % 2 ? 3 : 50));
      return ids;
    };
    std::vector<HeldIds> held{{.sequence = 4, .begin = 10, .ids = text(40)},
                              {.sequence = 2, .begin = 0, .ids = text(25)}};
    std::vector<std::int32_t> ids = text(random() % 9);
    for (int part = 0; part < 3; ++part) {
      const auto& from = held[random() % 2].ids;
      const std::size_t begin = random() % from.size(), n = random() % (from.size() - begin + 1);
      ids.insert(ids.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
                 from.begin() + static_cast<std::ptrdiff_t>(begin + n));
      ids.push_back(77);
    }
    const auto from = static_cast<std::int64_t>(random() % 12), least = std::int64_t{4};
    const MovedPart want = searched(ids, from, least, held);
    const MovedPart got = find_moved_part(ids, from, least, held);
    REQUIRE(got.n == want.n);
    if (want.n == 0) continue;
    ++n_found;
    REQUIRE(got.at == want.at);
    const auto& source = held[got.sequence == 4 ? 0 : 1];  // of equal ones any
    for (std::int64_t i = 0; i < got.n; ++i)
      REQUIRE(source.ids[static_cast<std::size_t>(got.begin - source.begin + i)] ==
              ids[static_cast<std::size_t>(got.at + i)]);
  }
  CHECK(n_found > 200);
}

TEST_CASE("texts of one repeated token take no longer than others") {
  const std::vector<std::int32_t> ids(200'000, 5);
  const std::vector<HeldIds> held{{.sequence = 1, .begin = 0, .ids = ids}};
  const MovedPart found = find_moved_part(ids, 3, 32, held);
  CHECK(found.at == 3);
  CHECK(found.n == std::ssize(ids) - 3);
}

// Thue-Morse sequences of 2048 ids and their complements have the same polynomial modulo 2^64,
// whatever its base is.
TEST_CASE("ids that have the same hash are compared") {
  std::vector<std::int32_t> ids, others;
  for (std::uint32_t i = 0; i < 2048; ++i) {
    ids.push_back(std::popcount(i) % 2);
    others.push_back(1 - ids.back());
  }
  CHECK(find_moved_part(ids, 0, 2048, std::vector<HeldIds>{{1, 0, others}}).n == 0);
  CHECK(find_moved_part(ids, 0, 2048, std::vector<HeldIds>{{1, 0, ids}}).n == 2048);
}
