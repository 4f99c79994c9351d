#include "prefixes/moved_parts.h"

#include <algorithm>
#include <bit>
#include <random>

#include <doctest/doctest.h>

using namespace weft::serve;

namespace {

// The definition: at every place in turn the longest run of all.
std::vector<MovedPart> searched(const std::vector<std::int32_t>& ids, std::int64_t from,
                                std::int64_t min_tokens, const std::vector<HeldIds>& held) {
  std::vector<MovedPart> parts;
  for (std::int64_t at = from; at < std::ssize(ids);) {
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
    if (best.n > 0) parts.push_back(best);
    at += std::max<std::int64_t>(best.n, 1);
  }
  return parts;
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
    const auto want = searched(ids, from, least, held);
    const auto got = find_moved_parts(ids, from, least, held);
    REQUIRE(got.size() == want.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      ++n_found;
      REQUIRE(got[k].at == want[k].at);
      REQUIRE(got[k].n == want[k].n);
      const auto& source = held[got[k].sequence == 4 ? 0 : 1];  // of equal ones any
      for (std::int64_t i = 0; i < got[k].n; ++i)
        REQUIRE(source.ids[static_cast<std::size_t>(got[k].begin - source.begin + i)] ==
                ids[static_cast<std::size_t>(got[k].at + i)]);
    }
  }
  CHECK(n_found > 600);
}

// A search that compared all places with each other would take hours.
TEST_CASE("texts of one repeated token are compared a few times only") {
  const std::vector<std::int32_t> ids(500'000, 5);
  const std::vector<HeldIds> held{{.sequence = 1, .begin = 0, .ids = ids}};
  const auto found = find_moved_parts(ids, 3, 32, held);
  REQUIRE(found.size() == 1);
  CHECK(found[0].at == 3);
  CHECK(found[0].n == std::ssize(ids) - 3);
}

// Thue-Morse sequences of 2048 ids and their complements have the same polynomial modulo 2^64,
// whatever its base is.
TEST_CASE("ids that have the same hash are compared") {
  std::vector<std::int32_t> ids, others;
  for (std::uint32_t i = 0; i < 2048; ++i) {
    ids.push_back(std::popcount(i) % 2);
    others.push_back(1 - ids.back());
  }
  CHECK(find_moved_parts(ids, 0, 2048, std::vector<HeldIds>{{1, 0, others}}).empty());
  CHECK(find_moved_parts(ids, 0, 2048, std::vector<HeldIds>{{1, 0, ids}}).size() == 1);
}
