#include "streaming/ring.h"

#include <algorithm>

namespace weft::run {

Ring::Ring(const WeightFiles& files, const Residency& residency, ReadQueue& queue)
    : memory_(residency.ring_bytes), queue_(queue) {
  const std::vector<StreamedWeight>& all = residency.streamed;
  for (const StreamedWeight& w : all) {
    const WeightFiles::Location& from = files.at(w.path);
    Place place{.fill = std::make_unique<Fill>()};
    place.fill->urgent = true;
    place.fill->pieces.push_back({.file = from.file,
                                  .offset = from.offset,
                                  .bytes = from.bytes,
                                  .place = memory_.data() + w.offset});
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].offset < w.offset + w.place && w.offset < all[i].offset + all[i].place)
        place.overlaps.push_back(i);
    }
    places_.push_back(std::move(place));
  }
}

void Ring::restart() noexcept {
  const std::lock_guard lock(mutex_);
  for (Place& place : places_) {
    place.taken = false;
    place.fill->ready.store(false, std::memory_order_relaxed);
  }
  next_ = 0;
  read_on();
}

void Ring::release(std::size_t i) noexcept {
  const std::lock_guard lock(mutex_);
  places_[i].taken = false;
  places_[i].fill->ready.store(false, std::memory_order_relaxed);
  read_on();
}

void Ring::read_on() noexcept {
  const auto is_taken = [&](std::size_t i) { return places_[i].taken; };
  while (!places_.empty() && std::ranges::none_of(places_[next_].overlaps, is_taken)) {
    places_[next_].taken = true;
    queue_.start(*places_[next_].fill);
    next_ = (next_ + 1) % places_.size();
  }
}

}  // namespace weft::run
