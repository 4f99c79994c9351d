#include "plan/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "weft/base/error.h"

namespace weft::scheduler {
namespace {

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    fail<ShapeError>("the activations of this graph have too many bytes");
  return sum;
}

bool live_together(const ArenaItem& a, const ArenaItem& b) {
  return a.first_stage <= b.last_stage && b.first_stage <= a.last_stage;
}

std::int64_t life(const ArenaItem& a) {
  return a.last_stage - a.first_stage + 1;
}

using Before = bool (*)(const ArenaItem&, const ArenaItem&);

bool larger(const ArenaItem& a, const ArenaItem& b) {
  return a.bytes > b.bytes;
}
bool longer(const ArenaItem& a, const ArenaItem& b) {
  return life(a) != life(b) ? life(a) > life(b) : a.bytes > b.bytes;
}
bool earlier(const ArenaItem& a, const ArenaItem& b) {
  return a.first_stage != b.first_stage ? a.first_stage < b.first_stage : a.bytes > b.bytes;
}
bool heavier(const ArenaItem& a, const ArenaItem& b) {
  const auto weight = [](const ArenaItem& i) {
    return static_cast<double>(i.bytes) * static_cast<double>(life(i));
  };
  return weight(a) > weight(b);
}

enum class Fit { first, best };

struct Heuristic {
  std::string_view name;
  Before before;
  Fit fit;
};
constexpr Heuristic kHeuristics[] = {
    {"largest first, best fit", larger, Fit::best},
    {"largest first, first fit", larger, Fit::first},
    {"longest life first, best fit", longer, Fit::best},
    {"bytes x life, best fit", heavier, Fit::best},
    {"bytes x life, first fit", heavier, Fit::first},
    {"stage order, first fit", earlier, Fit::first},
    {"stage order, best fit", earlier, Fit::best},
};

// The offset of the lowest or the tightest gap of `bytes` among `placed`: items that are live at
// the same time, sorted by offset.
std::int64_t find_gap(std::span<const ArenaItem* const> placed, std::int64_t bytes, Fit fit) {
  std::int64_t end = 0, best = -1, best_gap = std::numeric_limits<std::int64_t>::max();
  for (const ArenaItem* item : placed) {
    const std::int64_t gap = item->offset - end;
    if (gap >= bytes && gap < best_gap) {
      best = end;
      best_gap = gap;
      if (fit == Fit::first) return best;
    }
    end = std::max(end, plus(item->offset, item->bytes));
  }
  return best >= 0 ? best : end;
}

std::int64_t pack(std::vector<ArenaItem>& items, const Heuristic& heuristic) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return heuristic.before(items[a], items[b]);
  });
  std::vector<const ArenaItem*> placed;  // by offset
  std::vector<const ArenaItem*> alive;
  std::int64_t total = 0;
  for (const std::size_t i : order) {
    ArenaItem& item = items[i];
    alive.clear();
    for (const ArenaItem* other : placed) {
      if (live_together(item, *other)) alive.push_back(other);
    }
    item.offset = find_gap(alive, item.bytes, heuristic.fit);
    total = std::max(total, plus(item.offset, item.bytes));
    const auto at = std::upper_bound(
        placed.begin(), placed.end(), item.offset,
        [](std::int64_t offset, const ArenaItem* other) { return offset < other->offset; });
    placed.insert(at, &item);
  }
  return total;
}

std::int64_t max_live_bytes(const std::vector<ArenaItem>& items) {
  std::int32_t stages = 0;
  for (const ArenaItem& item : items) stages = std::max(stages, item.last_stage + 1);
  std::vector<std::int64_t> change(static_cast<std::size_t>(stages) + 1);
  for (const ArenaItem& item : items) {
    std::int64_t& born = change[static_cast<std::size_t>(item.first_stage)];
    born = plus(born, item.bytes);
    change[static_cast<std::size_t>(item.last_stage) + 1] -= item.bytes;
  }
  std::int64_t alive = 0, max_bytes = 0;
  for (const std::int64_t c : change) max_bytes = std::max(max_bytes, alive = plus(alive, c));
  return max_bytes;
}

}  // namespace

ArenaPacking pack_arena(std::vector<ArenaItem>& items) {
  ArenaPacking best{.bytes = std::numeric_limits<std::int64_t>::max(),
                    .lower_bound = max_live_bytes(items)};
  std::vector<ArenaItem> kept;
  for (const Heuristic& heuristic : kHeuristics) {
    std::vector<ArenaItem> trial = items;
    const std::int64_t bytes = pack(trial, heuristic);
    if (bytes >= best.bytes) continue;
    best.bytes = bytes;
    best.heuristic = heuristic.name;
    kept = std::move(trial);
    if (bytes == best.lower_bound) break;
  }
  items = std::move(kept);
  return best;
}

ArenaPacking pack_without_reuse(std::vector<ArenaItem>& items) {
  ArenaPacking packing{.lower_bound = max_live_bytes(items), .heuristic = "apart"};
  for (ArenaItem& item : items) {
    item.offset = packing.bytes;
    packing.bytes = plus(packing.bytes, item.bytes);
  }
  return packing;
}

}  // namespace weft::scheduler
