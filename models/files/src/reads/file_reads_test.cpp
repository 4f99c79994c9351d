#include "weft/files/file_reads.h"

#include <condition_variable>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"

#include "reads/read_files.h"
#include "support/temp_folder.h"

using namespace weft;

namespace {

std::string random_file(const std::string& path, std::size_t n_bytes) {
  std::string bytes(n_bytes, '\0');
  std::mt19937 random(7);
  for (char& c : bytes) c = static_cast<char>(random());
  std::ofstream(path, std::ios::binary) << bytes;
  return bytes;
}

// Memory that begins at a multiple of kReadAlignment.
class Blocks {
 public:
  explicit Blocks(std::size_t n) : memory_((n + 1) * kReadAlignment) {
    void* at = memory_.data();
    std::size_t size = memory_.size();
    bytes_ = {static_cast<std::byte*>(std::align(kReadAlignment, n * kReadAlignment, at, size)),
              n * kReadAlignment};
  }
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> memory_;
  std::span<std::byte> bytes_;
};

// Counts reads that have ended.
struct Ended {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t n = 0;
  std::vector<ReadFailure> failures;

  FileReads::Done done() {
    return [this](const FileRead&, const ReadFailure* failed) {
      const std::lock_guard lock(mutex);
      ++n;
      if (failed) failures.push_back(*failed);
      changed.notify_all();
    };
  }
  void wait_for(std::size_t wanted) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return n == wanted; });
  }
};

const FileReadOptions kMethods[] = {
    {.depth = 4, .method = ReadMethod::automatic},
    {.depth = 4, .method = ReadMethod::automatic, .direct = false},
    {.depth = 4, .method = ReadMethod::threads},
    {.depth = 4, .method = ReadMethod::threads, .direct = false},
};

}  // namespace

TEST_CASE("pieces of files arrive, the end of a file included") {
  const test::TempFolder folder;
  const std::vector<std::string> paths{(folder / "a").string(), (folder / "b").string()};
  // The second file ends within a block.
  const std::string bytes[] = {random_file(paths[0], 64 * 4096),
                               random_file(paths[1], 9 * 4096 + 5)};
  for (const FileReadOptions& options : kMethods) {
    Ended ended;
    const Blocks buffer(32);
    const auto reads = open_file_reads(paths, ended.done(), options);
    CAPTURE(reads->describe());
    std::size_t n = 0;
    for (int round = 0; round < 50; ++round) {
      std::vector<FileRead> started;
      for (std::size_t i = 0; i < 4; ++i) {
        const auto file = static_cast<std::int32_t>(i % 2);
        const std::size_t first = (round * 7 + i) % (file == 0 ? 60 : 9);
        const std::size_t size = bytes[file].size() - first * 4096;
        const FileRead read{.file = file,
                            .offset = first * 4096,
                            .to = buffer.bytes().subspan(i * 8 * 4096, 2 * 4096),
                            .needed = std::min<std::size_t>(size, 2 * 4096)};
        started.push_back(read);
        reads->submit(read);
      }
      ended.wait_for(n += 4);
      for (const FileRead& read : started)
        REQUIRE(std::memcmp(read.to.data(), bytes[read.file].data() + read.offset, read.needed) ==
                0);
    }
    CHECK(ended.failures.empty());
  }
}

TEST_CASE("reads past the end of a file fail by its name") {
  const test::TempFolder folder;
  const std::vector<std::string> paths{(folder / "short").string()};
  random_file(paths[0], 4096 + 100);
  for (const FileReadOptions& options : kMethods) {
    Ended ended;
    const Blocks buffer(4);
    {
      const auto reads = open_file_reads(paths, ended.done(), options);
      reads->submit({.offset = 4096, .to = buffer.bytes(), .needed = 101});
      reads->submit({.offset = 1 << 20, .to = buffer.bytes(), .needed = 1});
    }  // waits
    REQUIRE(ended.n == 2);
    REQUIRE(ended.failures.size() == 2);
    const std::string text = to_string(ended.failures[0], paths);
    CHECK(text.find("short: cannot read ") != std::string::npos);
    CHECK(text.find(": the file ends before") != std::string::npos);
  }
  CHECK_THROWS_WITH_AS(open_file_reads(std::vector<std::string>{"/nowhere/x"}, {}),
                       "/nowhere/x: cannot open: No such file or directory", IoError);
  CHECK_THROWS_AS(open_file_reads(paths, {}, {.depth = 0}), ValueError);
}

TEST_CASE("what the system leaves of a read is asked for again") {
  using files::ActiveRead;
  const auto fresh = [](bool direct) {
    static std::byte bytes[1];
    return ActiveRead{.read = {.to = {bytes, 3 * 4096}, .needed = 2 * 4096 + 1}, .direct = direct};
  };
  ActiveRead read = fresh(true);
  CHECK(read.after(-EINTR) == ActiveRead::Next::again);
  CHECK(read.after(4096) == ActiveRead::Next::again);
  CHECK(read.offset() == 4096);
  CHECK(read.after(-EINVAL) == ActiveRead::Next::again);
  CHECK(!read.direct);
  CHECK(read.after(100) == ActiveRead::Next::again);
  CHECK(read.after(3996) == ActiveRead::Next::again);
  CHECK(read.after(0) == ActiveRead::Next::failed);
  CHECK(read.after(1) == ActiveRead::Next::done);
  CHECK(fresh(true).after(4096 + 10) == ActiveRead::Next::failed);  // within a block: the end
  CHECK(fresh(false).after(-EIO) == ActiveRead::Next::failed);
  CHECK(fresh(false).after(-EINVAL) == ActiveRead::Next::failed);
}
