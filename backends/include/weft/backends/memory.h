#pragma once
// Memory that backends and the scheduler work in.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace weft {

inline constexpr std::int64_t kAlignment =
    64;  // of every buffer and of every tensor within one: a cache line, a zmm register

inline constexpr std::int64_t align_up(std::int64_t n) {
  return (n + kAlignment - 1) / kAlignment * kAlignment;
}

inline constexpr std::int64_t kHugePage = std::int64_t{2} << 20;

// What a buffer has to be asked for so that huge pages can back all of `n`: a multiple of theirs,
// unless it is smaller than one.
inline constexpr std::int64_t round_to_huge_pages(std::int64_t n) {
  return n < kHugePage ? n : (n + kHugePage - 1) / kHugePage * kHugePage;
}

// Zeroed memory from the operating system, page-aligned, backed by huge pages where the kernel
// grants them and the size is worth it. Owns it; movable.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t n_bytes);  // throws IoError with the size where the system refuses
  ~Buffer();
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept;

  std::byte* data() const { return data_; }
  std::int64_t size() const { return size_; }  // bytes, as asked for
  std::span<std::byte> bytes() const { return {data_, static_cast<std::size_t>(size_)}; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace weft
