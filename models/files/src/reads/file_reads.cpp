#include "weft/files/file_reads.h"

#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "weft/base/error.h"

#include "reads/read_files.h"

namespace weft {
namespace files {

ReadFiles::ReadFiles(std::span<const std::string> paths, bool direct) : files_(paths.size()) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    File& file = files_[i];
    if (paths[i].empty()) continue;
    file.buffered = open(paths[i].c_str(), O_RDONLY | O_CLOEXEC);
    if (file.buffered < 0) {
      const int error = errno;
      for (const File& opened : files_) {
        if (opened.buffered >= 0) close(opened.buffered);
        if (opened.direct >= 0) close(opened.direct);
      }
      fail<IoError>("{}: cannot open: {}", paths[i], std::strerror(error));
    }
    if (direct) file.direct = open(paths[i].c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  }
}

ReadFiles::~ReadFiles() {
  for (const File& file : files_) {
    if (file.buffered >= 0) close(file.buffered);
    if (file.direct >= 0) close(file.direct);
  }
}

int ReadFiles::descriptor(std::int32_t file, bool direct) const {
  const File& f = files_[static_cast<std::size_t>(file)];
  return direct ? f.direct : f.buffered;
}

bool ReadFiles::all_direct() const {
  for (const File& file : files_)
    if (file.buffered >= 0 && file.direct < 0) return false;
  return true;
}

}  // namespace files

std::string to_string(const ReadFailure& f, std::span<const std::string> paths) {
  return fmt::format("{}: cannot read {} bytes at {}: {}", paths[static_cast<std::size_t>(f.file)],
                     f.needed, f.offset,
                     f.error == 0 ? "the file ends before" : std::strerror(f.error));
}

std::unique_ptr<FileReads> open_file_reads(std::span<const std::string> paths, FileReads::Done done,
                                           const FileReadOptions& options) {
  if (options.depth < 1 || options.depth > kMaxReadDepth)
    fail<ValueError>("reads in progress must be 1..{}, got {}", kMaxReadDepth, options.depth);
#ifdef WEFT_WITH_URING
  if (options.method != ReadMethod::threads) {
    if (auto reads = files::open_uring_reads(paths, done, options)) return reads;
  }
#endif
  if (options.method == ReadMethod::uring)
    fail<UnsupportedError>("this system, or this build, has no io_uring");
  return files::open_thread_reads(paths, std::move(done), options);
}

}  // namespace weft
