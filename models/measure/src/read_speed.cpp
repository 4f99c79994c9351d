#include "weft/measure/read_speed.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/files/file_reads.h"

namespace weft::bench {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t n_blocks_of(const std::string& path, std::int64_t block) {
  const std::int64_t bytes = readable_bytes(path);
  const std::int64_t n = bytes / block;
  if (n == 0) fail<ValueError>("{}: has {} bytes, too few to measure reads", path, bytes);
  return n;
}

// Reads blocks of one size, so many at a time.
class Reading {
 public:
  Reading(const std::string& path, const ReadSpeed& about)
      : about_(about),
        n_blocks_(n_blocks_of(path, about.block)),
        buffer_(about.depth * about.block),
        reads_(open_file_reads(
            std::vector<std::string>{path},
            [this](const FileRead& read, const ReadFailure* failure) { done(read, failure); },
            {.depth = about.depth})) {}

  std::string reader() const { return reads_->describe(); }

  // Bytes per second.
  double run(std::chrono::duration<double> time, const std::string& path) {
    const auto begun = Clock::now();
    end_ = begun + std::chrono::duration_cast<Clock::duration>(time);
    running_ = about_.depth;
    for (int i = 0; i < about_.depth; ++i) start(i);
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return running_ == 0; });
    if (failure_) fail<IoError>("{}", to_string(*failure_, std::vector<std::string>{path}));
    const std::chrono::duration<double> seconds = Clock::now() - begun;
    return static_cast<double>(bytes_) / seconds.count();
  }

 private:
  void start(std::int64_t place) {
    std::int64_t block = 0;
    {
      const std::lock_guard lock(mutex_);
      block = static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n_blocks_));
    }
    const auto size = static_cast<std::size_t>(about_.block);
    reads_->submit({.offset = static_cast<std::uint64_t>(block * about_.block),
                    .to = buffer_.bytes().subspan(static_cast<std::size_t>(place) * size, size),
                    .needed = size,
                    .tag = static_cast<std::uint64_t>(place)});
  }

  void done(const FileRead& read, const ReadFailure* failure) {
    bool more = false;
    {
      const std::lock_guard lock(mutex_);
      if (failure) failure_ = *failure;
      bytes_ += static_cast<std::int64_t>(read.needed);
      more = !failure_ && Clock::now() < end_;
      if (!more && --running_ == 0) idle_.notify_all();
    }
    if (more) start(static_cast<std::int64_t>(read.tag));
  }

  const ReadSpeed about_;
  const std::int64_t n_blocks_;
  Buffer buffer_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::mt19937_64 random_{7};
  Clock::time_point end_;
  int running_ = 0;
  std::int64_t bytes_ = 0;
  std::optional<ReadFailure> failure_;
  std::unique_ptr<FileReads> reads_;  // destroyed first
};

}  // namespace

std::int64_t readable_bytes(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) fail<IoError>("{}: {} (give a file of the model)", path, error.message());
  return static_cast<std::int64_t>(bytes);
}

ReadSpeed measure_read_speed(const std::string& path, const ReadSpeed& about, double seconds) {
  Reading reading(path, about);
  ReadSpeed speed = about;
  speed.bytes_per_second = reading.run(std::chrono::duration<double>(seconds), path);
  speed.reader = reading.reader();
  return speed;
}

}  // namespace weft::bench
