#pragma once
// Fills pieces of memory from files, the urgent ones first, with a limited number of reads in
// progress.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "weft/files/file_reads.h"

namespace weft::run {

// Bytes of a file and the memory that they are read into. Whole blocks are read, so this memory
// begins with the block that contains the first byte.
struct FilePiece {
  std::int32_t file = 0;
  std::uint64_t offset = 0;
  std::int64_t bytes = 0;
  std::byte* place = nullptr;  // aligned to kReadAlignment, of place_bytes()

  static std::int64_t place_bytes(std::uint64_t offset, std::int64_t bytes);
  // The largest place_bytes() of any offset.
  static std::int64_t max_place_bytes(std::int64_t bytes);
  std::byte* data() const { return place + offset % kReadAlignment; }
};

// Memory that is filled from one or several pieces.
struct Fill {
  std::vector<FilePiece> pieces;
  std::atomic<bool> ready{false};
  bool urgent = false;

  // Used by the queue.
  std::size_t next_piece = 0;
  std::int64_t next_at = 0;  // reads have started for this many bytes of the next piece's place
  std::int32_t reading = 0;  // reads in progress
};

struct ReadStats {
  std::int64_t bytes = 0;  // that were read
  std::int64_t n_reads = 0;
};

class ReadQueue {
 public:
  struct Options {
    int depth = 8;                 // max reads in progress
    std::int64_t block = 1 << 20;  // max bytes of a read
    std::size_t max_fills = 0;     // max fills in the queue
    OpenFileReads open;            // empty: open_file_reads()
  };
  // Throws IoError.
  ReadQueue(std::span<const std::string> paths, Options options);
  ~ReadQueue();

  // Appends a fill to the queue. The fill must not move before it is ready. Does not allocate.
  // REQUIRES: it is not in the queue.
  void start(Fill& fill) noexcept;
  // Makes a queued fill urgent.
  void hurry(Fill& fill) noexcept;
  // Waits until the fill is ready, and adds the time to `waited_ns`. Returns false after a failure,
  // or as soon as `ended()` is true. `ended` is called every few milliseconds, without a lock.
  template <class Ended>
  bool wait(const Fill& fill, const Ended& ended, std::atomic<std::int64_t>& waited_ns);
  // Empties the queue. Reads in progress continue.
  void clear() noexcept;
  // Empties the queue and waits for the reads in progress. Returns false if `ended()` became true
  // before they were done.
  template <class Ended>
  bool drain(const Ended& ended);
  void drain() noexcept;

  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Throws IoError if a read failed. Nothing is read after a failure.
  void rethrow() const;
  void forget_failure() noexcept;  // REQUIRES: the queue is drained
  std::string describe() const { return reads_->describe(); }
  std::span<const std::string> paths() const { return paths_; }
  ReadStats stats() const;

 private:
  template <class Done, class Ended>
  bool wait_until(const Done& done, const Ended& ended);
  void insert(Fill& fill) noexcept;  // REQUIRES: mutex_ is held
  void pump() noexcept;              // REQUIRES: mutex_ is held
  bool start_read(Fill& fill) noexcept;
  void done(const FileRead& read, const ReadFailure* failure) noexcept;

  const std::vector<std::string> paths_;
  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Fill*> queue_;  // the urgent ones, then the others, each in the order of start()
  int reading_ = 0;
  ReadStats stats_;
  ReadFailure failure_;
  std::atomic<bool> failed_{false};
  // The last member, so that its destructor waits for reads before anything they use is destroyed.
  std::unique_ptr<FileReads> reads_;
};

// Waits until `done()`, which is called with the lock held. Returns false if `ended()` became true
// before.
template <class Done, class Ended>
bool ReadQueue::wait_until(const Done& done, const Ended& ended) {
  constexpr std::chrono::milliseconds kAskEvery{10};
  std::unique_lock lock(mutex_);
  while (!done()) {
    lock.unlock();  // `ended` may call a program, and reads must be able to arrive meanwhile
    if (ended()) return false;
    lock.lock();
    changed_.wait_for(lock, kAskEvery, done);
  }
  return true;
}

template <class Ended>
bool ReadQueue::wait(const Fill& fill, const Ended& ended, std::atomic<std::int64_t>& waited_ns) {
  const auto is_ready = [&] { return fill.ready.load(std::memory_order_acquire); };
  if (is_ready()) return true;
  const auto begun = std::chrono::steady_clock::now();
  const bool in_time = wait_until([&] { return is_ready() || failed(); }, ended);
  const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - begun;
  waited_ns.fetch_add(waited.count(), std::memory_order_relaxed);
  return in_time && is_ready();
}

template <class Ended>
bool ReadQueue::drain(const Ended& ended) {
  clear();
  return wait_until([&] { return reading_ == 0; }, ended);
}

}  // namespace weft::run
