#include "weft/backends/memory.h"

#include <cerrno>
#include <cstring>
#include <limits>

#include <sys/mman.h>
#include <unistd.h>

#include "weft/base/error.h"

namespace weft {
namespace {

std::int64_t round_up(std::int64_t n, std::int64_t to) {
  return (n + to - 1) / to * to;
}
std::int64_t mapped_bytes(std::int64_t n_bytes) {
  return round_up(n_bytes, sysconf(_SC_PAGESIZE));
}

std::byte* map_pages(std::int64_t n_bytes, std::int64_t asked) {
  void* p = mmap(nullptr, static_cast<std::size_t>(n_bytes), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) fail<IoError>("cannot allocate {} bytes: {}", asked, std::strerror(errno));
  return static_cast<std::byte*>(p);
}

void unmap(std::byte* p, std::int64_t n_bytes) {
  if (n_bytes > 0) munmap(p, static_cast<std::size_t>(n_bytes));
}

// Maps one huge page more than needed and unmaps the pages outside the aligned part.
std::byte* map_huge(std::int64_t n_bytes) {
  const std::int64_t wanted = mapped_bytes(n_bytes);
  std::byte* const raw = map_pages(wanted + kHugePage, n_bytes);
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(raw));
  const std::int64_t head = round_up(address, kHugePage) - address;
  unmap(raw, head);
  std::byte* const data = raw + head;
  unmap(data + wanted, kHugePage - head);
  madvise(data, static_cast<std::size_t>(wanted),
          MADV_HUGEPAGE);  // a hint: refusal only costs speed
  return data;
}

}  // namespace

Buffer::Buffer(std::int64_t n_bytes) {
  if (n_bytes == 0) return;
  if (n_bytes < 0 || n_bytes > std::numeric_limits<std::int64_t>::max() - 2 * kHugePage) {
    fail<IoError>("cannot allocate {} bytes: invalid size", n_bytes);
  }
  data_ = n_bytes >= kHugePage ? map_huge(n_bytes) : map_pages(mapped_bytes(n_bytes), n_bytes);
  size_ = n_bytes;
}

Buffer::~Buffer() {
  if (data_) unmap(data_, mapped_bytes(size_));
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace weft
