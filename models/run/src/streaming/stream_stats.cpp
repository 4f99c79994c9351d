// Sums and differences of residencies and of what was read.
#include "weft/run/residency.h"

namespace weft {
namespace {

// Adds `sign` times `more`.
void add(const StreamStats::Group& more, StreamStats::Group& sum, std::int64_t sign = 1) {
  sum.hits += sign * more.hits;
  sum.misses += sign * more.misses;
  sum.wait_ns += sign * more.wait_ns;
  sum.guesses += sign * more.guesses;
  sum.right_guesses += sign * more.right_guesses;
}

}  // namespace

std::int64_t Residency::cache_bytes() const {
  std::int64_t sum = 0;
  for (const SlotClass& c : slots) sum += c.n_slots * c.slot_bytes;
  return sum;
}

std::int64_t Residency::router_bytes() const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (guesses(i)) sum += groups[i].router_bytes;
  return sum;
}

std::int64_t Residency::streamed_bytes() const {
  std::int64_t sum = 0;
  for (const StreamedWeight& w : streamed) sum += w.bytes;
  return sum;
}

std::int64_t Residency::expert_bytes() const {
  std::int64_t sum = 0;
  for (const ExpertGroup& g : groups) sum += g.n_experts * g.expert_bytes;
  return sum;
}

StreamStats& StreamStats::operator+=(const StreamStats& more) {
  reader = more.reader;
  wait_ns += more.wait_ns;
  bytes_read += more.bytes_read;
  groups.resize(more.groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) add(more.groups[i], groups[i]);
  return *this;
}

StreamStats StreamStats::since(const StreamStats& before) const {
  StreamStats difference = *this;
  difference.wait_ns -= before.wait_ns;
  difference.bytes_read -= before.bytes_read;
  for (std::size_t i = 0; i < before.groups.size(); ++i)
    add(before.groups[i], difference.groups[i], -1);
  return difference;
}

StreamStats::Group StreamStats::all_groups() const {
  Group sum;
  for (const Group& g : groups) add(g, sum);
  return sum;
}

double Residency::cached_share() const {
  std::int64_t all = 0, cached = 0;
  for (const SlotClass& c : slots) {
    all += c.n_experts * c.slot_bytes;
    cached += c.n_slots * c.slot_bytes;
  }
  return all == 0 ? 0 : static_cast<double>(cached) / static_cast<double>(all);
}

}  // namespace weft
