#pragma once
// The files of a reader, and a read that is repeated until its bytes have arrived.

#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/files/file_reads.h"

namespace weft::files {

// Descriptors of files, for direct reads if their file systems allow it.
class ReadFiles {
 public:
  // Throws IoError.
  ReadFiles(std::span<const std::string> paths, bool direct);
  ~ReadFiles();
  ReadFiles(const ReadFiles&) = delete;
  ReadFiles& operator=(const ReadFiles&) = delete;

  int descriptor(std::int32_t file, bool direct) const;
  bool direct(std::int32_t file) const {
    return files_[static_cast<std::size_t>(file)].direct >= 0;
  }
  bool all_direct() const;

 private:
  struct File {
    int buffered = -1, direct = -1;
  };
  std::vector<File> files_;
};

// A read in progress. The system may read less than it was asked for, or refuse direct reads of a
// file that it opened for them.
struct ActiveRead {
  FileRead read;
  std::size_t got = 0;
  bool direct = false;

  std::uint64_t offset() const { return read.offset + got; }
  std::span<std::byte> rest() const { return read.to.subspan(got); }

  enum class Next : std::uint8_t { done, again, failed };
  // What follows after the system has read `result` bytes, or failed with -errno.
  Next after(std::int64_t result);
  ReadFailure failure(std::int64_t result) const {
    return {.file = read.file,
            .offset = read.offset,
            .needed = read.needed,
            .error = result < 0 ? static_cast<int>(-result) : 0};
  }
};

inline ActiveRead::Next ActiveRead::after(std::int64_t result) {
  if (result == -EINTR || result == -EAGAIN) return Next::again;
  if (result == -EINVAL && direct) {
    direct = false;
    return Next::again;
  }
  if (result < 0) return Next::failed;
  got += static_cast<std::size_t>(result);
  if (got >= read.needed) return Next::done;
  // Direct reads are of whole blocks, so one that ends within a block is the last.
  const bool ends = result == 0 || (direct && got % kReadAlignment != 0);
  return ends ? Next::failed : Next::again;
}

#ifdef WEFT_WITH_URING
// Null if the system refuses to set up a ring.
std::unique_ptr<FileReads> open_uring_reads(std::span<const std::string> paths,
                                            FileReads::Done done, const FileReadOptions& options);
#endif
std::unique_ptr<FileReads> open_thread_reads(std::span<const std::string> paths,
                                             FileReads::Done done, const FileReadOptions& options);

}  // namespace weft::files
