#include "snapshots/snapshot_writer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "weft/base/error.h"

namespace weft::serve {
namespace {

// The bytes of the jobs that wait; one may have more.
constexpr std::int64_t kMaxBytes = std::int64_t{32} << 20;

void add_to(std::vector<std::uint64_t>& all, std::vector<std::uint64_t>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

SnapshotWriter::SnapshotWriter(SnapshotFolder folder, std::function<void()> done)
    : folder_(std::move(folder)), done_(std::move(done)), thread_([this] { loop(); }) {}

SnapshotWriter::~SnapshotWriter() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    if (work_.size() > 1) work_.resize(1);
  }
  changed_.notify_all();
  thread_.join();
}

bool SnapshotWriter::has_room() const {
  const std::lock_guard lock(mutex_);
  return n_bytes_ < kMaxBytes;
}

void SnapshotWriter::add(std::function<void(Results&)> work, std::int64_t n_bytes) {
  {
    const std::lock_guard lock(mutex_);
    work_.push_back({std::move(work), n_bytes});
    n_bytes_ += n_bytes;
  }
  changed_.notify_all();
}

void SnapshotWriter::write(Job job) {
  const std::int64_t n_bytes = std::ssize(job.bytes);
  add([this, shared = std::make_shared<const Job>(std::move(job))](
          Results& results) { write_now(*shared, results); },
      n_bytes);
}

void SnapshotWriter::touch(std::vector<std::uint64_t> keys) {
  add([this, used = std::move(keys)](Results&) { folder_.touch(used); }, 0);
}

void SnapshotWriter::remove(std::vector<std::uint64_t> keys) {
  add(
      [this, goes = std::move(keys)](Results&) {
        for (const std::uint64_t key : goes) folder_.remove(key);
      },
      0);
}

SnapshotWriter::Results SnapshotWriter::results() {
  const std::lock_guard lock(mutex_);
  return std::exchange(results_, {});
}

void SnapshotWriter::wait(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [this] { return work_.empty(); });
}

void SnapshotWriter::write_now(const Job& job, Results& results) {
  constexpr std::int64_t kHeader = 4096;  // about
  try {
    const std::int64_t n_bytes =
        std::ssize(job.bytes) + kHeader + 4 * std::ssize(job.snapshot.tokens);
    if (!folder_.make_room(n_bytes, results.removed))
      fail<IoError>("no room on the disk for {} bytes", n_bytes);
    write_snapshot(folder_.path_of(job.label.key), job.label, job.snapshot);
    folder_.forget_pages(job.label.key);
    results.written.push_back(job.label.key);
  } catch (const std::exception& e) {
    results.failed.push_back(job.label.key);
    results.why_failed = e.what();
  }
}

void SnapshotWriter::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stops_ || !work_.empty(); });
    if (work_.empty()) return;
    const Work& first = work_.front();
    Results results;
    lock.unlock();
    first.run(results);
    lock.lock();
    n_bytes_ -= first.n_bytes;
    work_.pop_front();
    add_to(results_.written, results.written);
    add_to(results_.failed, results.failed);
    add_to(results_.removed, results.removed);
    if (!results.why_failed.empty()) results_.why_failed = results.why_failed;
    lock.unlock();
    changed_.notify_all();
    done_();
    lock.lock();
  }
}

}  // namespace weft::serve
