#pragma once
// Reads of pieces of files that go on beside the threads that asked for them: with io_uring and
// past the page cache (O_DIRECT) where the system offers both, else by threads that read at the
// same time, and through the page cache for a file whose file system refuses direct reads.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Direct reads need offsets and addresses that are multiples of this.
inline constexpr std::size_t kReadAlignment = 4096;

struct FileRead {
  std::int32_t file = 0;     // index of the path
  std::uint64_t offset = 0;  // multiple of kReadAlignment
  std::span<std::byte> to;   // address and size are multiples of it; outlives the read
  std::size_t needed = 0;    // bytes that must arrive: the file may end after them
  std::uint64_t tag = 0;     // the caller's
};

// Why a read failed.
struct ReadFailure {
  std::int32_t file = 0;
  std::uint64_t offset = 0;
  std::size_t needed = 0;
  int error = 0;  // errno; 0: the file ends before
};
// "PATH: cannot read 884736 bytes at 4096: Input/output error". `paths` are those of the reader.
std::string to_string(const ReadFailure& failure, std::span<const std::string> paths);

class FileReads {
 public:
  // Called when a read has ended, on a thread of the object, which may submit further ones.
  // `failed` is null if all needed bytes have arrived. Must not throw.
  using Done = std::function<void(const FileRead& read, const ReadFailure* failed)>;

  // Waits for reads in progress.
  virtual ~FileReads() = default;
  // "io_uring, direct"; "4 threads, page cache".
  virtual std::string describe() const = 0;
  // Starts a read. Any thread; does not allocate or wait for the disk. REQUIRES: fewer than `depth`
  // reads are in progress.
  virtual void submit(const FileRead& read) noexcept = 0;
};

enum class ReadMethod : std::uint8_t {
  automatic,  // io_uring if the system has it, else threads
  uring,
  threads,
};

inline constexpr int kMaxReadDepth = 256;

struct FileReadOptions {
  int depth = 8;  // max reads in progress, 1 to kMaxReadDepth
  ReadMethod method = ReadMethod::automatic;
  bool direct = true;  // past the page cache
};

// Opens the files; an empty path stands for one that is not read. Throws IoError "PATH: cannot
// open: ..." and, for ReadMethod::uring, UnsupportedError if the system or the build lacks
// io_uring.
std::unique_ptr<FileReads> open_file_reads(std::span<const std::string> paths, FileReads::Done done,
                                           const FileReadOptions& options = {});

using OpenFileReads = std::function<std::unique_ptr<FileReads>(
    std::span<const std::string> paths, FileReads::Done done, const FileReadOptions& options)>;

}  // namespace weft
