#include "weft/files/output_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"

namespace weft {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

std::string follow_links(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

std::string temporary_name(const std::string& target, int attempt) {
  return fmt::format("{}.{}-{}.tmp", target, ::getpid(), attempt);
}

std::string name_of_descriptor(int fd) {
  return fmt::format("/proc/self/fd/{}", fd);
}

// Creates an unnamed file in the folder of `target`; -1 if the file system does not support it, or
// it could not be linked later.
int create_nameless(const std::string& target, mode_t mode) {
  const std::filesystem::path folder = std::filesystem::path(target).parent_path();
  const int fd =
      ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  if (fd < 0 || ::access(name_of_descriptor(fd).c_str(), F_OK) == 0) return fd;
  ::close(fd);
  return -1;
}

// Creates a file next to `target` and sets `temporary` to its name. Returns -1 and sets errno if
// that fails.
int create_beside(const std::string& target, mode_t mode, std::string& temporary) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary = temporary_name(target, attempt);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0) return fd;
    if (errno != EEXIST) break;
  }
  const int code = errno;
  temporary.clear();
  errno = code;
  return -1;
}

}  // namespace

OutputFile::OutputFile(std::string path, Readers readers)
    : path_(std::move(path)), target_(follow_links(path_)) {
  buffer_.reserve(kBufferBytes);
  open_target(readers);
  check(fd_ >= 0, "cannot create");
}

void OutputFile::open_target(Readers readers) {
  constexpr mode_t kOwner = S_IRUSR | S_IWUSR;
  mode_t mode = readers == Readers::owner ? kOwner : 0666;
  struct stat info {};
  if (::stat(target_.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) {
      fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
      return;
    }
    mode &= info.st_mode | kOwner;
  }
  fd_ = create_nameless(target_, mode);
  nameless_ = fd_ >= 0;
  if (!nameless_) fd_ = create_beside(target_, mode, temporary_);
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::check(bool ok, const char* what) const {
  if (ok) return;
  const int code = errno;
  throw IoError(fmt::format("{}: {}: {}", path_, what, std::generic_category().message(code)),
                code);
}

void OutputFile::reserve(std::uint64_t n_bytes) {
  if (!nameless_ && temporary_.empty()) return;
  if (::fallocate(fd_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(n_bytes)) == 0) return;
  if (errno != ENOSPC && errno != EFBIG && errno != EDQUOT) return;
  check(false, fmt::format("no room for {} bytes", n_bytes).c_str());
}

void OutputFile::write_out(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    check(n >= 0, "cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

void OutputFile::flush() {
  write_out(buffer_);
  buffer_.clear();
}

void OutputFile::write(std::span<const std::byte> bytes) {
  written_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kBufferBytes - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    bytes = bytes.subspan(n);
    if (buffer_.size() == kBufferBytes) flush();
  }
}

void OutputFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void OutputFile::overwrite(std::uint64_t offset, std::span<const std::byte> bytes) {
  flush();
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    check(n >= 0, "cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

// Links an unnamed file to a name next to the target, from where it can replace the target.
void OutputFile::link_into_place() {
  const std::string self = name_of_descriptor(fd_);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string name = temporary_name(target_, attempt);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return;
    }
    if (errno != EEXIST) break;
  }
  check(false, "cannot give the finished file a name");
}

void OutputFile::commit() {
  if (n_missing_pages() != missing_pages_) {
    fail<IoError>(
        "{}: was not written: {} was truncated, or could not be read, while it was in use",
        printable_path(path_),
        printable_path(missing_pages_ == 0 ? first_failed_mapping() : "a mapped file"));
  }
  flush();
  if (nameless_ || !temporary_.empty()) check(::fsync(fd_) == 0, "cannot write");
  if (nameless_) link_into_place();
  const int fd = std::exchange(fd_, -1);
  check(::close(fd) == 0, "cannot write");
  if (temporary_.empty()) return;
  check(::rename(temporary_.c_str(), target_.c_str()) == 0,
        "cannot rename the finished file to it");
  temporary_.clear();
}

}  // namespace weft
