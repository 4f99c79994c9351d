#pragma once
// Writes snapshots on a thread of its own, so that no text waits for the disk.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "weft/base/clock.h"
#include "weft/base/ledger.h"
#include "weft/run/snapshot_file.h"

#include "snapshots/snapshot_folder.h"

namespace weft::serve {

class SnapshotWriter {
 public:
  struct Job {
    SnapshotLabel label;
    Snapshot snapshot;
    std::vector<std::byte> bytes;  // those of its states
    Taken memory;                  // for these
  };
  // What became of jobs, and of files that had to go.
  struct Results {
    std::vector<std::uint64_t> written, failed, removed;  // keys
    std::string why_failed;                               // the last one; "" if there is none
  };

  // `done` is called on the writer's thread after each job; must not throw or wait for the writer.
  SnapshotWriter(SnapshotFolder folder, std::function<void()> done);
  // Drops what is not being written. REQUIRES: the thread that calls is not the writer's.
  ~SnapshotWriter();

  // Called from one thread, like those below. Whether another job may be added: the memory of those
  // that wait is limited.
  bool has_room() const;
  void write(Job job);
  // The files of a text were read: SnapshotFolder::touch().
  void touch(std::vector<std::uint64_t> keys);
  void remove(std::vector<std::uint64_t> keys);  // files that are of no use
  Results results();                             // those since the last call
  // Waits until everything is written, or until then.
  void wait(Clock::time_point until);

 private:
  void loop();
  void add(std::function<void(Results&)> work, std::int64_t n_bytes);
  void write_now(const Job& job, Results& results);

  SnapshotFolder folder_;
  const std::function<void()> done_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  struct Work {
    std::function<void(Results&)> run;
    std::int64_t n_bytes;
  };
  std::deque<Work> work_;  // the first one is being done
  std::int64_t n_bytes_ = 0;
  bool stops_ = false;
  Results results_;
  std::thread thread_;
};

}  // namespace weft::serve
