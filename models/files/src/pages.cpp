#include "weft/files/pages.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "weft/files/mapped_file.h"

namespace weft {
namespace {

#ifdef MADV_POPULATE_READ
constexpr int kPopulateRead = MADV_POPULATE_READ;
#else
constexpr int kPopulateRead = 22;  // Linux 5.14; older kernels refuse it
#endif

struct Pages {
  std::byte* begin;
  std::size_t size;
};

// The whole pages that hold the bytes.
Pages pages_of(std::span<const std::byte> bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::size_t head = address % page_bytes();
  return {const_cast<std::byte*>(bytes.data()) - head, bytes.size() + head};
}

int advise(Pages pages, int advice) {
  return pages.size == 0 ? 0 : madvise(pages.begin, pages.size, advice);
}

}  // namespace

void read_ahead(std::span<const std::byte> bytes) noexcept {
  if (!bytes.empty()) advise(pages_of(bytes), MADV_WILLNEED);
}

bool prefault(std::span<const std::byte> bytes) noexcept {
  if (bytes.empty()) return true;
  const Pages pages = pages_of(bytes);
  if (advise(pages, kPopulateRead) == 0) return true;
  // Read errors, which an access would turn into a signal.
  if (errno == EFAULT || errno == EHWPOISON || errno == EIO) return false;
  read_ahead(bytes);  // EINVAL: unknown before Linux 5.14
  for (std::size_t at = 0; at < pages.size; at += page_bytes()) {
    [[maybe_unused]] const volatile std::byte touched =
        *static_cast<const volatile std::byte*>(pages.begin + at);
  }
  return true;
}

void expect(std::span<const std::byte> bytes, Access access) noexcept {
  if (!bytes.empty()) advise(pages_of(bytes), access == Access::sparse ? MADV_RANDOM : MADV_NORMAL);
}

void release_pages(std::span<const std::byte> bytes) noexcept {
  if (bytes.empty()) return;
  advise(pages_of(bytes), MADV_DONTNEED);
}

CacheDropper::CacheDropper(const std::string& path) noexcept
    : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
CacheDropper::CacheDropper(CacheDropper&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
CacheDropper::~CacheDropper() {
  if (fd_ >= 0) ::close(fd_);
}

void CacheDropper::drop(std::uint64_t offset, std::uint64_t n_bytes) const noexcept {
  if (fd_ < 0 || n_bytes == 0) return;
  posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(n_bytes), POSIX_FADV_DONTNEED);
}

}  // namespace weft
