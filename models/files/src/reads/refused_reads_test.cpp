// Reads while the kernel refuses to take them from the ring.

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/files/file_reads.h"

#include "support/temp_folder.h"

using namespace weft;

namespace {

// From now on, rings refuse system calls of this thread, and of threads that it starts, with
// `error`. Returns false if the system does not allow this.
bool refuse_rings(int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_enter, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = std::size(filter), .filter = filter};
  const bool refused = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  if (!refused) MESSAGE("skipped: cannot filter system calls: " << std::strerror(errno));
  return refused;
}

// A file of one block, and a pipe that a read waits for until something is written.
class Paths {
 public:
  Paths() {
    std::ofstream(all()[0], std::ios::binary) << std::string(kReadAlignment, 'x');
    REQUIRE(mkfifo(all()[1].c_str(), 0600) == 0);
    pipe_ = open(all()[1].c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(pipe_ >= 0);
  }
  ~Paths() { close(pipe_); }
  std::vector<std::string> all() const {
    return {(folder_ / "file").string(), (folder_ / "pipe").string()};
  }
  void write_to_pipe() const { CHECK(write(pipe_, "x", 1) == 1); }

 private:
  test::TempFolder folder_;
  int pipe_ = -1;
};

struct alignas(kReadAlignment) Block {
  std::byte bytes[kReadAlignment];

  FileRead of_file() { return {.file = 0, .to = bytes, .needed = kReadAlignment, .tag = 0}; }
  FileRead of_pipe() { return {.file = 1, .to = bytes, .needed = 1, .tag = 1}; }
};

// How reads ended: the tag, and 0 or the errno of the failure.
class Ends {
 public:
  using All = std::vector<std::pair<std::uint64_t, int>>;

  void add(const FileRead& read, const ReadFailure* failure) {
    const std::lock_guard lock(mutex_);
    all_.emplace_back(read.tag, failure ? failure->error : 0);
    changed_.notify_all();
  }
  // The first `n`.
  All wait_for(std::size_t n) {
    std::unique_lock lock(mutex_);
    CHECK(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return all_.size() >= n; }));
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  All all_;
};

// Null if the system has no rings.
std::unique_ptr<FileReads> open_ring(const Paths& paths, FileReads::Done done) {
  try {
    return open_file_reads(paths.all(), std::move(done), {.depth = 3, .method = ReadMethod::uring});
  } catch (const UnsupportedError& e) {
    MESSAGE("skipped: " << e.what());
    return nullptr;
  }
}

void check_refused(int error) {
  const Paths paths;
  Block blocks[2];
  Ends ends;
  if (!refuse_rings(error)) return;
  const auto reads = open_ring(
      paths, [&](const FileRead& read, const ReadFailure* failure) { ends.add(read, failure); });
  if (!reads) return;
  for (std::size_t round = 1; round <= 2; ++round) {
    for (Block& block : blocks) reads->submit(block.of_file());
    CHECK(ends.wait_for(2 * round) == Ends::All(2 * round, {0, error}));
  }
}

}  // namespace

TEST_CASE("reads that the kernel does not take fail with its reason") {
  for (const int error : {EPERM, EAGAIN}) {
    // A thread of its own, because it cannot use rings any more.
    std::thread([error] { check_refused(error); }).join();
  }
}

TEST_CASE("reads that the kernel has taken arrive although it takes no more") {
  const Paths paths;
  Block blocks[3];
  Ends ends;
  bool is_tried = false, is_refused = false;
  const auto reads = open_ring(paths, [&](const FileRead& read, const ReadFailure* failure) {
    // This is the thread that uses the ring.
    if (!std::exchange(is_tried, true)) is_refused = refuse_rings(EPERM);
    ends.add(read, failure);
  });
  if (!reads) return;
  reads->submit(blocks[0].of_pipe());
  reads->submit(blocks[1].of_file());
  CHECK(ends.wait_for(1) == Ends::All{{0, 0}});
  reads->submit(blocks[2].of_file());
  CHECK(ends.wait_for(2) == Ends::All{{0, 0}, {0, is_refused ? EPERM : 0}});
  paths.write_to_pipe();
  CHECK(ends.wait_for(3).back() == Ends::All::value_type{1, 0});
}
