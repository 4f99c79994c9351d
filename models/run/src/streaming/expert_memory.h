#pragma once
// The experts of a model in memory: a cache that is filled from the model's files.

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/backends/memory.h"
#include "weft/files/checkpoint.h"
#include "weft/graph/view.h"
#include "weft/run/residency.h"

#include "streaming/expert_cache.h"
#include "streaming/expert_usage.h"
#include "streaming/read_queue.h"

namespace weft::run {

// Whether the run in progress has to end early.
struct RunEnds {
  const std::atomic<bool>* cancel = nullptr;
  const std::atomic<bool>* stopped = nullptr;
  bool operator()() const {
    return (cancel && cancel->load(std::memory_order_relaxed)) ||
           (stopped && stopped->load(std::memory_order_relaxed));
  }
};

class ExpertMemory {
 public:
  // The queue and `ends` outlive it.
  ExpertMemory(const Checkpoint& file, const Residency& residency, ReadQueue& queue,
               const RunEnds& ends);
  ~ExpertMemory();

  std::size_t n_groups() const { return groups_.size(); }
  std::int64_t bytes() const;  // allocated
  std::size_t n_slots() const { return fills_.size(); }
  PagedRows* paged(std::size_t group, std::size_t weight) const;

  // Reads the experts that are missing of those in rows [row0, row1) of the ids [T, K], and keeps
  // them in memory until release().
  void acquire(std::size_t group, const View& ids, std::int64_t row0, std::int64_t row1) noexcept;
  void release(std::size_t group) noexcept;
  // Whether some kernel did not get an expert in this run: its results must not be used.
  bool cut_short() const { return cut_short_.load(std::memory_order_acquire); }
  void begin() noexcept { cut_short_.store(false, std::memory_order_relaxed); }
  void add_stats(StreamStats& stats) const;
  // Frequencies of earlier sessions, as usage() gave them: starts reading the experts that
  // were chosen most, as far as there is room. REQUIRES: no run has begun.
  void warm_up(const ExpertUsage& usage);
  ExpertUsage usage() const;
  // After a run that ended early: forgets experts whose reads did not end. REQUIRES: the queue is
  // drained.
  void reset() noexcept;

 private:
  class Weight;
  struct Group;
  void take_ahead(std::size_t group, ExpertCache::Now now) noexcept;
  // Slots that are read ahead make room again when they are filled, or all of them.
  void end_ahead(bool all) noexcept;
  // Counts the choices of rows that were not counted yet, and appends experts that were not chosen
  // before to chosen_.
  void count(Group& group, const View& ids, std::int64_t row0, std::int64_t row1) noexcept;
  void use(Group& group, std::int32_t slot) noexcept;
  void read(std::int32_t slot, bool urgent) noexcept;
  // Reads the experts that a step of n_tokens tokens will probably need in the group after this
  // one.
  void read_ahead(std::size_t group, std::int64_t n_tokens) noexcept;

  ReadQueue& queue_;
  const RunEnds& ends_;
  std::atomic<bool> cut_short_{false};
  mutable std::mutex mutex_;
  ExpertCache cache_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<Buffer> memory_;                // by class
  std::vector<std::unique_ptr<Fill>> fills_;  // by slot
  std::vector<std::byte*> places_;            // by slot
  std::vector<std::int32_t> ahead_;           // slots that are read ahead, held
  // How many more may be, by class: the others are enough for the experts needed at a time.
  std::vector<std::int64_t> room_ahead_;
  std::vector<std::int32_t> chosen_, missing_, taken_;
};

}  // namespace weft::run
