#pragma once
// Control over the pages of a mapped file. All of these are hints: if the system ignores one, that
// costs time or memory, never correctness.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft {

// Starts reading the pages that are not in memory, without waiting.
void read_ahead(std::span<const std::byte> bytes) noexcept;

// Waits until every page is in memory and mapped, so that access does not fault. Returns false if
// some cannot be read because the disk failed or the file was truncated: access would then end the
// process. Linux before 5.14 cannot detect that.
[[nodiscard]] bool prefault(std::span<const std::byte> bytes) noexcept;

// How the bytes are accessed from now on. By default, an access to a page that is not in memory
// also reads its neighbours, often megabytes of them: right for `dense`, costly for `sparse`.
enum class Access : std::uint8_t { sparse, dense };
void expect(std::span<const std::byte> bytes, Access access) noexcept;

// Unmaps the pages from this process; the system keeps them in its page cache. They come back when
// they are accessed again.
void release_pages(std::span<const std::byte> bytes) noexcept;

// Evicts pages of a file from the system's page cache, unless some process has them mapped.
class CacheDropper {
 public:
  explicit CacheDropper(const std::string& path) noexcept;
  ~CacheDropper();
  CacheDropper(CacheDropper&& other) noexcept;
  CacheDropper& operator=(CacheDropper&&) = delete;

  void drop(std::uint64_t offset, std::uint64_t n_bytes) const noexcept;

 private:
  int fd_;
};

}  // namespace weft
