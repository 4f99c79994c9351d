#pragma once
// What the system does with the pages of a mapped file. All of these are hints: where the system
// refuses one, it costs time or memory, never results.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft {

// Starts reading the pages from disk, where they are not in memory, and does not wait.
void read_ahead(std::span<const std::byte> bytes) noexcept;

// Waits until every page is in memory and mapped, so that using it does not fault. False where some
// cannot be read, since the disk fails or the file was cut short: using them would end the process.
// Linux before 5.14 cannot tell.
[[nodiscard]] bool bring_in(std::span<const std::byte> bytes) noexcept;

// Takes the pages out of this process; the system keeps them in its cache of the file. What is used
// again comes back.
void let_go(std::span<const std::byte> bytes) noexcept;

// Takes pages of a file out of the system's cache, unless somebody has them mapped.
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
