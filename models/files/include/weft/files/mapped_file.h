#pragma once
// A whole file mapped read-only (private mapping; the descriptor is closed at once). Movable,
// not copyable. Callers decide how pages are read ahead or dropped (pages.h).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "weft/files/mapping_guard.h"

namespace weft {

// The attributes that the system changes when a file is written or replaced, as they were when the
// file was mapped.
struct FileStamp {
  std::uint64_t device = 0, inode = 0, n_bytes = 0;
  std::int64_t modified_ns = 0;  // last change of the contents
  std::int64_t changed_ns = 0;   // last change of the contents, the name or the rights
  // The changes were so long before the mapping that a later one must have another time, even if
  // the clock of the file system is coarse.
  bool conclusive = false;
};

class MappedFile {
 public:
  MappedFile() = default;
  // Throws IoError "PATH: cannot open: No such file or directory"; directories, pipes and devices
  // are refused. An empty file gives empty bytes.
  explicit MappedFile(const std::string& path);
  // Maps the file of a descriptor, which stays open and the caller's. `name` stands for the path in
  // messages. Throws IoError likewise.
  static MappedFile of_descriptor(int fd, const std::string& name);
  // Copies the bytes into an unnamed file, which lives as long as its mapping. Throws IoError.
  static MappedFile anonymous(std::span<const std::byte> bytes);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // None for unnamed files.
  const std::optional<FileStamp>& stamp() const { return stamp_; }
  // With install_mapping_guard(): some bytes could not be read, because the file was truncated or
  // its disk failed, and zeros were read instead. From any thread.
  bool failed() const { return guard_.failed(); }
  // Whether the file of that name is the one that was mapped, but has another size or time of
  // modification now: it was written since then, or touched.
  bool was_written(const std::string& path) const;
  // Whether the file of that name is the one that was mapped.
  bool is_at(const std::string& path) const;

 private:
  void map(int fd, std::uintmax_t size, const std::string& path);

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::optional<FileStamp> stamp_;
  GuardedMapping guard_;
};

// Throws the IoError for a mapping that has failed.
[[noreturn]] void refuse_missing_pages(const std::string& path);

// Bytes of a page of memory; mappings start at multiples of it.
std::size_t page_bytes();

}  // namespace weft
