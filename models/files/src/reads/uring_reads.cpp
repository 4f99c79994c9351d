// Reads by io_uring. One thread submits the reads that others queue, and reports those that are
// done. It sleeps in the kernel until there is something to do: the ring also reads an eventfd, to
// which others write when they queue a read.
//
// The kernel may refuse to take reads from the ring: it lacks memory, or a sandbox forbids the
// call. Reads that it has not taken then fail, after some tries if the reason may pass. Reads that
// it has taken write to their memory at any time, so they are awaited in any case.
#include <cerrno>
#include <chrono>
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

// Linux has had rings since 5.1, and this operation since 5.6.
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
    unsubmitted_.reserve(active_.size() + 1);
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
    // The reading thread itself calls this in done_, and takes from the queue before it sleeps.
    if (std::this_thread::get_id() != thread_.get_id()) wake();
  }

 private:
  static constexpr std::uint64_t kWake = UINT64_MAX;  // user_data of the eventfd's read
  // A read that the kernel does not take fails after a second.
  static constexpr int kMaxTries = 200;
  static constexpr std::chrono::milliseconds kPause{5}, kIdlePause{50};  // between tries

  void wake() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(wake_, &one, sizeof one);
  }

  void work() {
    for (;;) {
      const bool ended = start_queued();
      if (ended && is_idle()) return;
      if (!awaits_wake_) wait_for_wake();
      submit_and_wait();
      reap();
    }
  }

  bool is_idle() const { return free_.size() == active_.size(); }

  void submit_and_wait() {
    const int n = io_uring_submit_and_wait(&ring_, 1);
    const auto n_left = static_cast<std::ptrdiff_t>(io_uring_sq_ready(&ring_));
    unsubmitted_.erase(unsubmitted_.begin(), unsubmitted_.end() - n_left);
    if (n >= 0) {
      n_tries_ = 0;
      return;
    }
    if (n == -EINTR && unsubmitted_.empty()) return;  // a signal ended the wait
    std::this_thread::sleep_for(is_idle() ? kIdlePause : kPause);
    const bool may_pass = n == -EINTR || n == -EAGAIN || n == -EBUSY;
    if (may_pass && (is_idle() || ++n_tries_ < kMaxTries)) return;
    n_tries_ = 0;
    fail_unsubmitted(n);
  }

  void fail_unsubmitted(std::int64_t result) {
    // Takes them out of the ring, which the kernel accesses only in system calls of this thread.
    ring_.sq.sqe_head = ring_.sq.sqe_tail = *ring_.sq.khead;
    io_uring_smp_store_release(ring_.sq.ktail, *ring_.sq.khead);
    for (const std::uint64_t i : unsubmitted_) {
      if (i == kWake)
        awaits_wake_ = false;
      else
        end(i, &result);
    }
    unsubmitted_.clear();
  }

  // Returns whether no more reads will come, and none was queued.
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
    unsubmitted_.push_back(i);
  }

  void wait_for_wake() {
    io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
    io_uring_prep_read(sqe, wake_, &woken_, sizeof woken_, 0);
    sqe->user_data = kWake;
    unsubmitted_.push_back(kWake);
    awaits_wake_ = true;
  }

  void reap() {
    io_uring_cqe* cqe = nullptr;
    while (io_uring_peek_cqe(&ring_, &cqe) == 0 && cqe) {
      const std::uint64_t i = cqe->user_data;
      const std::int64_t result = cqe->res;
      io_uring_cqe_seen(&ring_, cqe);
      n_tries_ = 0;
      if (i == kWake) {
        awaits_wake_ = false;
        continue;
      }
      switch (active_[i].after(result)) {
        case ActiveRead::Next::again:
          start(i);
          break;
        case ActiveRead::Next::done:
          end(i, nullptr);
          break;
        case ActiveRead::Next::failed:
          end(i, &result);
          break;
      }
    }
  }

  // `error` is the result of a read that failed.
  void end(std::size_t i, const std::int64_t* error) {
    const FileRead read = active_[i].read;
    const ReadFailure failure = active_[i].failure(error ? *error : 0);
    free_.push_back(i);
    done_(read, error ? &failure : nullptr);
  }

  io_uring ring_;
  ReadFiles files_;
  Done done_;
  int wake_ = -1;
  std::uint64_t woken_ = 0;
  // Used by the reading thread alone.
  std::vector<ActiveRead> active_;
  std::vector<std::size_t> free_;  // indices of active_ without a read
  std::vector<FileRead> taken_;    // from the queue
  // Indices of reads, or kWake, that the kernel has not taken from the ring, in order.
  std::vector<std::uint64_t> unsubmitted_;
  bool awaits_wake_ = false;  // the eventfd's read is in the ring
  int n_tries_ = 0;           // since the kernel took a read or a read was done

  std::mutex mutex_;
  std::vector<FileRead> queue_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<FileReads> open_uring_reads(std::span<const std::string> paths,
                                            FileReads::Done done, const FileReadOptions& options) {
  io_uring ring{};
  // One entry more than reads, for the eventfd.
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
