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

// Bytes of a file and where they go. Reads are of whole blocks, so the memory begins with the block
// in which they begin.
struct FilePiece {
  std::int32_t file = 0;
  std::uint64_t offset = 0;
  std::int64_t bytes = 0;
  std::byte* place = nullptr;  // aligned to kReadAlignment, of place_bytes()

  static std::int64_t place_bytes(std::uint64_t offset, std::int64_t bytes);
  // Enough for `bytes` at any offset.
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
  std::int64_t next_at = 0;  // bytes of its place whose reads have started
  std::int32_t reading = 0;  // reads in progress
};

struct ReadStats {
  std::int64_t bytes = 0;  // that have arrived
  std::int64_t n_reads = 0;
};

class ReadQueue {
 public:
  struct Options {
    int depth = 8;                 // reads in progress
    std::int64_t block = 1 << 20;  // bytes of a read
    std::size_t max_fills = 0;     // that may be queued at the same time
    OpenFileReads open;            // empty: open_file_reads()
  };
  // Throws IoError.
  ReadQueue(std::span<const std::string> paths, Options options);
  ~ReadQueue();

  // Queues a fill, which is not queued and stays where it is until it is ready. Does not allocate.
  void start(Fill& fill) noexcept;
  // Makes a queued fill urgent.
  void hurry(Fill& fill) noexcept;
  // Waits until the fill is ready, and adds the time to `waited_ns`. False after a failure, or if
  // `ended` says so, which is asked every few milliseconds.
  template <class Ended>
  bool wait(const Fill& fill, Ended ended, std::atomic<std::int64_t>& waited_ns);
  // Waits until nothing is queued and no read is in progress; those that have not started do not
  // start any more.
  void drain() noexcept;

  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Throws IoError for the first failure, after which nothing is read.
  void rethrow() const;
  void forget_failure() noexcept;  // REQUIRES: the queue is drained
  std::string describe() const { return reads_->describe(); }
  ReadStats stats() const;

 private:
  void insert(Fill& fill) noexcept;  // REQUIRES: mutex_ is held
  void pump() noexcept;              // likewise
  bool start_read(Fill& fill) noexcept;
  void done(const FileRead& read, const ReadFailure* failure) noexcept;

  const std::vector<std::string> paths_;
  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Fill*> queue_;  // urgent ones first, each kind in order
  int reading_ = 0;
  ReadStats stats_;
  ReadFailure failure_;
  std::atomic<bool> failed_{false};
  std::unique_ptr<FileReads> reads_;  // destroyed first: it waits for reads in progress
};

template <class Ended>
bool ReadQueue::wait(const Fill& fill, Ended ended, std::atomic<std::int64_t>& waited_ns) {
  constexpr std::chrono::milliseconds kAskEvery{10};
  if (fill.ready.load(std::memory_order_acquire)) return true;
  const auto begun = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  bool ends = false;
  while (!fill.ready.load(std::memory_order_acquire) && !ends) {
    ends = failed() || ended();
    if (!ends) changed_.wait_for(lock, kAskEvery);
  }
  const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - begun;
  waited_ns.fetch_add(waited.count(), std::memory_order_relaxed);
  return !ends;
}

}  // namespace weft::run
