// Reads by threads, for systems without io_uring.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "weft/base/error.h"

#include "reads/read_files.h"

namespace weft::files {
namespace {

class ThreadReads final : public FileReads {
 public:
  ThreadReads(std::span<const std::string> paths, Done done, const FileReadOptions& options)
      : files_(paths, options.direct), done_(std::move(done)) {
    queue_.reserve(static_cast<std::size_t>(options.depth));
    const int n = std::min(options.depth, kMaxThreads);
    try {
      for (int i = 0; i < n; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& e) {
      stop();
      fail<IoError>("cannot start threads that read: {}", e.what());
    }
  }
  ~ThreadReads() override { stop(); }

  std::string describe() const override {
    return fmt::format("{} threads, {}", threads_.size(),
                       files_.all_direct() ? "direct" : "page cache");
  }

  void submit(const FileRead& read) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(read);
    }
    wake_.notify_one();
  }

 private:
  static constexpr int kMaxThreads = 8;

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_all();
    threads_.clear();
  }

  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return ended_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const FileRead read = queue_.front();
      queue_.erase(queue_.begin());
      lock.unlock();
      run({.read = read, .direct = files_.direct(read.file)});
    }
  }

  void run(ActiveRead active) {
    for (;;) {
      const int fd = files_.descriptor(active.read.file, active.direct);
      const std::span<std::byte> to = active.rest();
      const ssize_t n = pread(fd, to.data(), to.size(), static_cast<off_t>(active.offset()));
      const std::int64_t result = n < 0 ? -errno : n;
      switch (active.after(result)) {
        case ActiveRead::Next::again:
          break;
        case ActiveRead::Next::done:
          return done_(active.read, nullptr);
        case ActiveRead::Next::failed: {
          const ReadFailure failure = active.failure(result);
          return done_(active.read, &failure);
        }
      }
    }
  }

  ReadFiles files_;
  Done done_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<FileRead> queue_;
  bool ended_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace

std::unique_ptr<FileReads> open_thread_reads(std::span<const std::string> paths,
                                             FileReads::Done done, const FileReadOptions& options) {
  return std::make_unique<ThreadReads>(paths, std::move(done), options);
}

}  // namespace weft::files
