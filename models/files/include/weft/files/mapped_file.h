#pragma once
// A whole file mapped read-only (private mapping; the descriptor is closed at once). Movable,
// not copyable. Callers decide how pages are read ahead or dropped (pages.h).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft {

class MappedFile {
 public:
  MappedFile() = default;
  // Throws IoError "PATH: cannot open: No such file or directory"; directories, pipes and devices
  // are refused. An empty file gives empty bytes.
  explicit MappedFile(const std::string& path);
  // Copies the bytes into an unnamed file, which lives as long as its mapping. Throws IoError.
  static MappedFile anonymous(std::span<const std::byte> bytes);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  void map(int fd, std::uintmax_t size, const std::string& path);

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Bytes of a page of memory; mappings start at multiples of it.
std::size_t page_bytes();

}  // namespace weft
