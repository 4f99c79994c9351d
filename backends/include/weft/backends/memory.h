#pragma once
// Aligned memory for backends and the scheduler.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace weft {

// The alignment of every buffer and of every tensor within one: a cache line, a zmm register.
inline constexpr std::int64_t kAlignment = 64;

inline constexpr std::int64_t align_up(std::int64_t n) {
  return (n + kAlignment - 1) / kAlignment * kAlignment;
}

inline constexpr std::int64_t kHugePage = std::int64_t{2} << 20;

// `n` rounded up to whole huge pages, so that they can back all of it; unchanged if it is smaller
// than one.
inline constexpr std::int64_t round_to_huge_pages(std::int64_t n) {
  return n < kHugePage ? n : (n + kHugePage - 1) / kHugePage * kHugePage;
}

// Zeroed, page-aligned memory from the operating system. Backed by huge pages if it is large enough
// and the kernel grants them. Owns its memory; movable.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t n_bytes);  // throws IoError with the size if the system refuses
  ~Buffer();
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept;

  std::byte* data() const { return data_; }
  std::int64_t size() const { return size_; }  // bytes, as requested
  std::span<std::byte> bytes() const { return {data_, static_cast<std::size_t>(size_)}; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace weft
