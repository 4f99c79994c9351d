#pragma once
// The experts of a model in memory: a cache that is filled from the model's files.

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/backends/memory.h"
#include "weft/graph/view.h"
#include "weft/run/residency.h"

#include "streaming/expert_cache.h"
#include "streaming/expert_guesses.h"
#include "streaming/expert_usage.h"
#include "streaming/read_queue.h"
#include "streaming/run_ends.h"
#include "streaming/weight_files.h"

namespace weft::run {

class ExpertMemory {
 public:
  // The queue and `ends` outlive it.
  ExpertMemory(const WeightFiles& files, const Residency& residency, ReadQueue& queue,
               const RunEnds& ends, ExpertGuesses guesses);
  ~ExpertMemory();

  std::size_t n_groups() const { return groups_.size(); }
  std::int64_t bytes() const;  // allocated
  std::size_t n_slots() const { return fills_.size(); }
  PagedRows* paged(std::size_t group, std::size_t weight) const;

  // Rows [row0, row1) of the ids [T, K] name experts. Keeps those that are in memory there until
  // release(), and starts reading the others. The first call in a step also gets their input x
  // [T, D].
  void acquire(std::size_t group, const View& x, const View& ids, std::int64_t row0,
               std::int64_t row1) noexcept;
  void release(std::size_t group) noexcept;
  // Whether a kernel of this run did not get an expert. The run's results must not be used then.
  bool cut_short() const { return cut_short_.load(std::memory_order_acquire); }
  void begin() noexcept { cut_short_.store(false, std::memory_order_relaxed); }
  void add_stats(StreamStats& stats) const;
  // Takes over the usage() of an earlier session, and starts reading the experts that were chosen
  // most often, as many as there is room for. REQUIRES: no run has begun.
  void warm_up(const ExpertUsage& usage);
  ExpertUsage usage() const;
  // Releases what a run that ended early has acquired, and vacates the slots of experts that were
  // not read completely. REQUIRES: the queue is drained.
  void reset() noexcept;

 private:
  class Weight;
  struct Group;
  void take_ahead(std::size_t group, ExpertCache::Now now) noexcept;
  // Releases slots that were read ahead: those that are filled, or all.
  void end_ahead(bool all) noexcept;
  // Counts the choices of rows that were not counted before. Afterwards, chosen_ has the experts
  // that none of the earlier rows chose.
  void count(Group& group, const View& ids, std::int64_t row0, std::int64_t row1) noexcept;
  void use(Group& group, std::int32_t slot) noexcept;
  void read(std::int32_t slot, bool urgent) noexcept;
  // Starts reading the experts that a step of n_tokens tokens will probably need in the next group.
  void read_ahead(std::size_t group, std::int64_t n_tokens) noexcept;
  // The same for a step of few tokens, by guesses from x. REQUIRES: the caller holds no lock.
  void read_guesses(std::size_t group, const View& x) noexcept;
  // Counts which guesses about the group were right, when its experts have been chosen.
  void check_guesses(Group& group) noexcept;

  ReadQueue& queue_;
  const RunEnds& ends_;
  std::atomic<bool> cut_short_{false};
  mutable std::mutex mutex_;
  ExpertCache cache_;
  ExpertGuesses guesses_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<Buffer> memory_;                // by class
  std::vector<std::unique_ptr<Fill>> fills_;  // by slot
  std::vector<std::byte*> places_;            // by slot
  std::vector<std::int32_t> ahead_;           // slots that are read ahead; they are held
  // By class: how many more slots may be read ahead. The experts needed at the same time always
  // have room in the others.
  std::vector<std::int64_t> room_ahead_;
  std::vector<std::int32_t> chosen_, missing_, taken_, guessed_, held_;
};

}  // namespace weft::run
