// Reads by io_uring. One thread submits what others queue and reaps what has arrived. It sleeps in
// the kernel until either happens: a read of an eventfd is always in the ring.
#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "weft/base/error.h"

#include "reads/read_files.h"

namespace weft::files {
namespace {

// The operation came with Linux 5.6, rings with 5.1.
bool has_reads(io_uring& ring) {
  io_uring_probe* const probe = io_uring_get_probe_ring(&ring);
  const bool has = probe && io_uring_opcode_supported(probe, IORING_OP_READ) != 0;
  io_uring_free_probe(probe);
  return has;
}

class UringReads final : public FileReads {
 public:
  // Throws IoError.
  UringReads(io_uring ring, std::span<const std::string> paths, Done done,
             const FileReadOptions& options)
      : ring_(ring),
        files_(paths, options.direct),
        done_(std::move(done)),
        active_(static_cast<std::size_t>(options.depth)) {
    queue_.reserve(active_.size());
    taken_.reserve(active_.size());
    for (std::size_t i = 0; i < active_.size(); ++i) free_.push_back(i);
    wake_ = eventfd(0, EFD_CLOEXEC);
    if (wake_ < 0) fail<IoError>("eventfd: {}", std::strerror(errno));
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error& e) {
      close(wake_);
      fail<IoError>("cannot start a thread that reads: {}", e.what());
    }
  }
  ~UringReads() override {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake();
    if (thread_.joinable()) thread_.join();
    io_uring_queue_exit(&ring_);
    if (wake_ >= 0) close(wake_);
  }

  std::string describe() const override {
    return files_.all_direct() ? "io_uring, direct" : "io_uring, page cache";
  }

  void submit(const FileRead& read) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(read);
    }
    // The thread looks at the queue before it sleeps.
    if (std::this_thread::get_id() != thread_.get_id()) wake();
  }

 private:
  static constexpr std::uint64_t kWake = UINT64_MAX;  // user_data of the eventfd's read

  void wake() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(wake_, &one, sizeof one);
  }

  void work() {
    wait_for_wake();
    for (;;) {
      const bool ended = start_queued();
      if (ended && free_.size() == active_.size()) return;
      const int n = io_uring_submit_and_wait(&ring_, 1);
      if (n < 0 && n != -EINTR && n != -EAGAIN && n != -EBUSY) {  // nothing can be read any more
        fail_all(n);
        continue;
      }
      reap();
    }
  }

  // Whether no more reads will come, and none is queued.
  bool start_queued() {
    bool ended = false;
    {
      const std::lock_guard lock(mutex_);
      std::swap(queue_, taken_);
      ended = ended_;
    }
    for (const FileRead& read : taken_) {
      const std::size_t i = free_.back();
      free_.pop_back();
      active_[i] = {.read = read, .direct = files_.direct(read.file)};
      start(i);
    }
    ended = ended && taken_.empty();
    taken_.clear();
    return ended;
  }

  void start(std::size_t i) {
    const ActiveRead& a = active_[i];
    io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
    const std::span<std::byte> to = a.rest();
    io_uring_prep_read(sqe, files_.descriptor(a.read.file, a.direct), to.data(),
                       static_cast<unsigned>(to.size()), a.offset());
    sqe->user_data = i;
  }

  void wait_for_wake() {
    io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
    io_uring_prep_read(sqe, wake_, &woken_, sizeof woken_, 0);
    sqe->user_data = kWake;
  }

  void reap() {
    io_uring_cqe* cqe = nullptr;
    while (io_uring_peek_cqe(&ring_, &cqe) == 0 && cqe) {
      const std::uint64_t i = cqe->user_data;
      const std::int64_t result = cqe->res;
      io_uring_cqe_seen(&ring_, cqe);
      if (i == kWake) {
        wait_for_wake();
      } else {
        ended(i, result);
      }
    }
  }

  void ended(std::size_t i, std::int64_t result) {
    const ActiveRead::Next next = active_[i].after(result);
    if (next == ActiveRead::Next::again) return start(i);
    const FileRead read = active_[i].read;
    const ReadFailure failure = active_[i].failure(result);
    free_.push_back(i);
    done_(read, next == ActiveRead::Next::failed ? &failure : nullptr);
  }

  void fail_all(int result) {
    std::vector<bool> is_free(active_.size());
    for (const std::size_t i : free_) is_free[i] = true;
    for (std::size_t i = 0; i < active_.size(); ++i)
      if (!is_free[i]) ended(i, result);
  }

  io_uring ring_;
  ReadFiles files_;
  Done done_;
  int wake_ = -1;
  std::uint64_t woken_ = 0;
  // Used by the thread alone.
  std::vector<ActiveRead> active_;
  std::vector<std::size_t> free_;
  std::vector<FileRead> taken_;

  std::mutex mutex_;
  std::vector<FileRead> queue_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<FileReads> open_uring_reads(std::span<const std::string> paths,
                                            FileReads::Done done, const FileReadOptions& options) {
  io_uring ring{};
  // A sleeping thread must be woken for an eventfd and for each read.
  if (io_uring_queue_init(static_cast<unsigned>(options.depth) + 1, &ring, 0) < 0) return nullptr;
  if (!has_reads(ring)) {
    io_uring_queue_exit(&ring);
    return nullptr;
  }
  try {
    return std::make_unique<UringReads>(ring, paths, std::move(done), options);
  } catch (...) {
    io_uring_queue_exit(&ring);
    throw;
  }
}

}  // namespace weft::files
