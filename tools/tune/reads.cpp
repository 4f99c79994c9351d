#include "reads.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <random>

#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/files/file_reads.h"
#include "weft/run/read_choices.h"

namespace weft::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kBlocks[] = {256 * kKiB, 1024 * kKiB, 4096 * kKiB};
constexpr int kDepths[] = {4, 8, 16};
constexpr double kClearGainOfReads = 1.1;  // disks vary more than processors

std::int64_t bytes_of(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) fail<IoError>("{}: {} (give a file of the model)", path, error.message());
  return static_cast<std::int64_t>(bytes);
}

// Reads blocks of one size, so many at a time.
class Reading {
 public:
  Reading(const std::string& path, ReadSpeed about)
      : about_(about),
        n_blocks_(bytes_of(path) / about.block),
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

MeasuredReads measure_reads(const std::string& path, double seconds) {
  const run::ReadChoices standard;
  MeasuredReads measured;
  measured.speeds.push_back({.depth = standard.depth, .block = standard.block});
  for (const std::int64_t block : kBlocks) {
    for (const int depth : kDepths)
      if (block != standard.block || depth != standard.depth)
        measured.speeds.push_back({.depth = depth, .block = block});
  }
  const std::int64_t bytes = bytes_of(path);
  std::erase_if(measured.speeds, [&](const ReadSpeed& s) { return s.block > bytes; });
  if (measured.speeds.empty())
    fail<ValueError>("{}: has {} bytes, too few to measure reads", path, bytes);
  const std::chrono::duration<double> each(seconds / static_cast<double>(measured.speeds.size()));
  for (ReadSpeed& speed : measured.speeds) {
    Reading reading(path, speed);
    speed.bytes_per_second = reading.run(each, path);
    measured.reader = reading.reader();
  }
  const auto fastest = std::ranges::max_element(measured.speeds, {}, &ReadSpeed::bytes_per_second);
  const ReadSpeed& first = measured.speeds.front();
  const bool clear = fastest->bytes_per_second > kClearGainOfReads * first.bytes_per_second;
  measured.best = clear ? *fastest : first;
  return measured;
}

TunedValues best_values(const MeasuredReads& measured) {
  const double gain = measured.best.bytes_per_second / measured.speeds.front().bytes_per_second;
  return run::to_values(
      {.depth = measured.best.depth,
       .block = measured.best.block,
       .bytes_per_second = static_cast<std::int64_t>(measured.best.bytes_per_second)},
      gain);
}

}  // namespace weft::bench
