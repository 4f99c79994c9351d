#include "weft/files/mapped_file.h"

#include <cerrno>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/base/opened_file.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"

namespace weft {
namespace {

std::int64_t nanoseconds(const timespec& t) {
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

FileStamp stamp_of(const struct stat& info) {
  // FAT counts in steps of 2 s, most other file systems in less than 10 ms.
  constexpr std::int64_t kCoarsest = 2'500'000'000;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  FileStamp stamp{.device = info.st_dev,
                  .inode = info.st_ino,
                  .n_bytes = static_cast<std::uint64_t>(info.st_size),
                  .modified_ns = nanoseconds(info.st_mtim),
                  .changed_ns = nanoseconds(info.st_ctim)};
  // Only the time of change counts: programs may set that of modification.
  stamp.conclusive = nanoseconds(now) - stamp.changed_ns > kCoarsest;
  return stamp;
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const OpenedFile file(path, SpecialFiles::refuse);
  map(file.fd(), static_cast<std::uintmax_t>(file.info().st_size), path);
  stamp_ = stamp_of(file.info());
}

MappedFile MappedFile::of_descriptor(int fd, const std::string& name) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) refuse_file(name, "cannot examine");
  if (!S_ISREG(info.st_mode)) fail<IoError>("{}: is not a regular file", printable_path(name));
  MappedFile file;
  file.map(fd, static_cast<std::uintmax_t>(info.st_size), name);
  file.stamp_ = stamp_of(info);
  return file;
}

MappedFile MappedFile::anonymous(std::span<const std::byte> bytes) {
  const std::string name = "a file in memory";
  const int fd = ::memfd_create("weft", MFD_CLOEXEC);
  if (fd < 0) refuse_file(name, "cannot make");
  const Descriptor closes_itself{fd};
  for (std::span<const std::byte> rest = bytes; !rest.empty();) {
    const ssize_t n = ::write(fd, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse_file(name, "cannot write");
    rest = rest.subspan(static_cast<std::size_t>(n));
  }
  MappedFile file;
  file.map(fd, bytes.size(), name);
  return file;
}

void MappedFile::map(int fd, std::uintmax_t size, const std::string& path) {
  if (size == 0) return;
  if (size > SIZE_MAX / 2) fail<IoError>("{}: cannot map {} bytes", printable_path(path), size);
  void* data = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) refuse_file(path, "cannot map");
  data_ = static_cast<const std::byte*>(data);
  size_ = static_cast<std::size_t>(size);
  guard_ = GuardedMapping(data_, size_, path);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      stamp_(std::exchange(other.stamp_, std::nullopt)),
      guard_(std::move(other.guard_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(stamp_, other.stamp_);
  std::swap(guard_, other.guard_);
  return *this;
}

MappedFile::~MappedFile() {
  guard_ = GuardedMapping();
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

bool MappedFile::was_written(const std::string& path) const {
  struct stat info {};
  if (!stamp_ || ::stat(path.c_str(), &info) != 0) return false;
  const FileStamp now = stamp_of(info);
  if (now.device != stamp_->device || now.inode != stamp_->inode) return false;
  return now.n_bytes != stamp_->n_bytes || now.modified_ns != stamp_->modified_ns;
}

bool MappedFile::is_at(const std::string& path) const {
  struct stat info {};
  if (!stamp_ || ::stat(path.c_str(), &info) != 0) return false;
  const FileStamp now = stamp_of(info);
  return now.device == stamp_->device && now.inode == stamp_->inode;
}

void refuse_missing_pages(const std::string& path) {
  fail<IoError>("{}: was truncated, or could not be read, while it was in use",
                printable_path(path));
}

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace weft
