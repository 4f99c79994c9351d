#pragma once
// Weights that are read in order, again and again, each into its place in a ring of memory.

#include <memory>
#include <mutex>
#include <vector>

#include "weft/backends/memory.h"
#include "weft/run/residency.h"

#include "streaming/read_queue.h"
#include "streaming/weight_files.h"

namespace weft::run {

class Ring {
 public:
  // Reads nothing before restart(). The queue outlives the ring.
  Ring(const WeightFiles& files, const Residency& residency, ReadQueue& queue);

  std::size_t size() const { return places_.size(); }
  std::int64_t bytes() const { return memory_.size(); }  // allocated
  const std::byte* data(std::size_t i) const { return places_[i].fill->pieces[0].data(); }
  const Fill& fill(std::size_t i) const { return *places_[i].fill; }

  // Starts reading with the first weight. REQUIRES: the queue is drained.
  void restart() noexcept;
  // All kernels of the step have read weight i, so its memory may be used for other weights.
  void release(std::size_t i) noexcept;

 private:
  struct Place {
    std::unique_ptr<Fill> fill;
    std::vector<std::size_t> overlaps;  // indices of places with bytes in common, its own included
    bool taken = false;                 // by its weight, which is read or in use
  };
  void read_on() noexcept;  // REQUIRES: mutex_ is held

  Buffer memory_;
  ReadQueue& queue_;
  std::mutex mutex_;
  std::vector<Place> places_;
  std::size_t next_ = 0;  // index of the weight to be read next
};

}  // namespace weft::run
