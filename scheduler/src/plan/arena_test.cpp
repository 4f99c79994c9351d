#include "plan/arena.h"

#include <random>

#include <doctest/doctest.h>

#include "weft/backends/memory.h"

namespace weft {
namespace {

using namespace scheduler;

void check_apart(const std::vector<ArenaItem>& items, std::int64_t bytes) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const ArenaItem& a = items[i];
    CHECK(a.offset + a.bytes <= bytes);
    CHECK(a.offset % kAlignment == 0);
    for (std::size_t j = i + 1; j < items.size(); ++j) {
      const ArenaItem& b = items[j];
      const bool together = a.first_stage <= b.last_stage && b.first_stage <= a.last_stage;
      const bool overlap = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      CHECK_FALSE((together && overlap));
    }
  }
}

TEST_CASE(
    "random lifetimes are packed without overlap, never below the bound, never worse than "
    "unshared") {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<ArenaItem> items(static_cast<std::size_t>(random() % 60));
    for (ArenaItem& item : items) {
      item.bytes = static_cast<std::int64_t>(random() % 20) * kAlignment;
      item.first_stage = static_cast<std::int32_t>(random() % 20);
      item.last_stage = item.first_stage + static_cast<std::int32_t>(random() % 6);
    }
    auto apart = items;
    const ArenaPacking packing = pack_arena(items), loose = pack_without_reuse(apart);
    check_apart(items, packing.bytes);
    check_apart(apart, loose.bytes);
    CHECK(packing.bytes >= packing.lower_bound);
    CHECK(packing.bytes <= loose.bytes);
    CHECK(packing.lower_bound == loose.lower_bound);
  }
}

TEST_CASE("a chain of lifetimes needs two places") {
  std::vector<ArenaItem> items;
  for (std::int32_t i = 0; i < 10; ++i) items.push_back({64, i, i + 1});
  const ArenaPacking packing = pack_arena(items);
  CHECK(packing.bytes == 128);
  CHECK(packing.lower_bound == 128);
  CHECK_FALSE(packing.heuristic.empty());
}

TEST_CASE("an empty arena has no bytes") {
  std::vector<ArenaItem> items;
  CHECK(pack_arena(items).bytes == 0);
}

}  // namespace
}  // namespace weft
